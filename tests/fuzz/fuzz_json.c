/* C16: fuzz target of JSON: what is taken can be written and is taken again; errors and queries from outside.
 */
#include "base/alloc.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_parse(const char *text, size_t len)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *value = json_parse(text, len, &err);
    require((value == NULL) == (err != NULL));
    if (!value) {
        require(err->code == ERROR_PROTOCOL && !strchr(err->message, '\n') && !strchr(err->message, '\033'));
        return;
    }
    autofree char *again = json_text(value);
    auto(json) json_t *back = json_parse(again, strlen(again), NULL);
    require(back && json_equal(value, back));

    const char *s = NULL;
    int64_t n = 5;
    bool b;
    char **list = NULL;
    json_opt_string(value, "s", 10, &s, NULL);
    require(!s || strlen(s) <= 10);
    json_opt_number(value, "n", 0, 10, &n, NULL);
    require(n >= 0 && n <= 10);
    json_opt_bool(value, "b", &b, NULL);
    json_opt_strings(value, "l", 3, 10, &list, NULL);
    json_free_strings(list);
    auto(error) struct error *told = NULL;
    if (json_to_error(value, &told) < 0)
        require(told && told->message);
}

static void check_bytes(const uint8_t *data, size_t size)
{
    auto(json) json_t *value = json_bytes(data, size);
    autofree char *text = json_text(value);
    auto(json) json_t *back = json_parse(text, strlen(text), NULL);
    require(back != NULL);
}

static void check_query(const uint8_t *data, size_t size)
{
    autofree char *path = xcalloc(size + 1, 1);
    memcpy(path, data, size);
    autofree char *value = NULL;
    size_t len = 0;
    if (json_query(path, "path", &value, &len, NULL) < 0)
        require(!value);
    require(!value || strlen(value) == len);

    /* What is encoded comes back as it was, if it has no NUL. */
    autofree char *encoded = json_url_encode((const char *)data, size);
    autofree char *whole = xasprintf("/x?path=%s", encoded);
    autofree char *back = NULL;
    int rc = json_query(whole, "path", &back, &len, NULL);
    if (memchr(data, 0, size))
        require(rc < 0);
    else
        require(rc == 0 && len == size && memcmp(back, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 65536)
        return 0;
    check_parse((const char *)data, size);
    check_bytes(data, size);
    check_query(data, size);
    return 0;
}
