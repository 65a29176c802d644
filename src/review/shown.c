#include "review/shown.h"

#include "base/text.h"

#include <string.h>

json_t *shown_bytes(const void *bytes, size_t len, size_t max)
{
    struct text text;

    text_init(&text, bytes, len, max, TEXT_DEFAULT);
    json_t *value = json_string(text.bytes);
    text_finish(&text);
    return value;
}

json_t *shown(const char *bytes, size_t max)
{
    return shown_bytes(bytes ? bytes : "", bytes ? strlen(bytes) : 0, max);
}
