#include "vm/cage.h"

#include "base/alloc.h"
#include "base/buf.h"

#include <string.h>

int cage_add(struct cage *cage, enum cage_access access, const char *path, struct error **err)
{
    if (path[0] != '/')
        return error_set(err, ERROR_INVALID, "\"%s\" is not a full path", path);
    if (cage->count == CAGE_PATHS_MAX)
        return error_set(err, ERROR_INVALID, "a machine uses more than %d files", CAGE_PATHS_MAX);
    cage->items[cage->count].access = access;
    cage->items[cage->count].path = xstrdup(path);
    cage->count++;
    return 0;
}

void cage_finish(struct cage *cage)
{
    for (size_t i = 0; i < cage->count; i++)
        free(cage->items[i].path);
    cage->count = 0;
}

char *cage_format(const struct cage *cage)
{
    struct buf buf;
    buf_init(&buf, 0);
    for (size_t i = 0; i < cage->count; i++) {
        buf_printf(&buf, NULL, "%s%c=", i ? ";" : "", (int)cage->items[i].access);
        for (const unsigned char *p = (const unsigned char *)cage->items[i].path; *p; p++) {
            if (*p <= ' ' || *p >= 0x7f || *p == ';' || *p == '%')
                buf_printf(&buf, NULL, "%%%02X", *p);
            else
                buf_append(&buf, p, 1, NULL);
        }
    }
    return buf_take_string(&buf);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes up to ';' or the end into path; returns bytes read, 0 for a bad escape. */
static size_t decode(const char *text, char *path)
{
    size_t n = 0, i = 0;
    for (; text[i] && text[i] != ';'; i++) {
        path[n] = text[i];
        if (text[i] == '%') {
            int high = hex_digit(text[i + 1]);
            int low = high < 0 ? -1 : hex_digit(text[i + 2]);
            if (low < 0 || high * 16 + low == 0)
                return 0;
            path[n] = (char)(high * 16 + low);
            i += 2;
        }
        n++;
    }
    path[n] = '\0';
    return i;
}

int cage_parse(const char *text, struct cage *ret_cage, struct error **err)
{
    struct cage cage = {0};
    autofree char *path = xcalloc(strlen(text) + 1, 1);
    int rc = 0;

    *ret_cage = cage;
    for (const char *p = text;;) {
        size_t used = strchr("rwd", *p) && *p && p[1] == '=' ? decode(p + 2, path) : 0;
        if (used == 0)
            rc = error_set(err, ERROR_INVALID, "%s is not a list of files at \"%.40s\"", CAGE_VARIABLE, p);
        else
            rc = cage_add(&cage, (enum cage_access) * p, path, err);
        if (rc < 0)
            break;
        p += 2 + used;
        if (*p == '\0')
            break;
        p++;
    }
    if (rc < 0)
        cage_finish(&cage);
    else
        *ret_cage = cage;
    return rc;
}
