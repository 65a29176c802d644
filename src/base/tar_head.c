#include "base/tar_head.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

#define USTAR_SIZE_MAX 077777777777ULL
#define NAME_FIELD     100

/* An octal field with its terminator; the value fits by the caller's care. */
static void octal(char *field, size_t size, uint64_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

/* Appends one 512-byte head. Names are cut to their field: the pax record before it has the whole. */
static void put_head(struct buf *out, const char *name, const char *target, char type, uint32_t mode,
                     uint64_t size, int64_t mtime)
{
    char head[TAR_BLOCK] = {0};
    memcpy(head, name, strnlen(name, NAME_FIELD));
    octal(head + 100, 8, mode & 0777);
    octal(head + 108, 8, 0);
    octal(head + 116, 8, 0);
    octal(head + 124, 12, size > USTAR_SIZE_MAX ? 0 : size);
    octal(head + 136, 12, mtime < 0 ? 0 : (uint64_t)mtime & USTAR_SIZE_MAX);
    memset(head + 148, ' ', 8);
    head[156] = type;
    if (target)
        memcpy(head + 157, target, strnlen(target, NAME_FIELD));
    memcpy(head + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)head[i];
    octal(head + 148, 7, sum);
    require(buf_append(out, head, sizeof(head), NULL) == 0);
}

/* Appends one pax record "LEN key=value\n" to body; LEN counts itself. */
static void pax_record(struct buf *body, const char *key, const char *value, size_t len)
{
    size_t rest = strlen(key) + len + 3; /* blank, '=', newline */
    size_t total = rest + 1;
    for (;;) {
        size_t digits = (size_t)snprintf(NULL, 0, "%zu", total);
        if (rest + digits == total)
            break;
        total = rest + digits;
    }
    require(buf_printf(body, NULL, "%zu %s=", total, key) == 0);
    require(buf_append(body, value, len, NULL) == 0);
    require(buf_append(body, "\n", 1, NULL) == 0);
}

void tar_head_pad(struct buf *out, uint64_t size)
{
    static const char zeros[TAR_BLOCK];
    if (size % TAR_BLOCK)
        require(buf_append(out, zeros, TAR_BLOCK - (size_t)(size % TAR_BLOCK), NULL) == 0);
}

void tar_head_append(struct buf *out, const char *path, const char *target, char type, uint32_t mode,
                     uint64_t size, int64_t mtime)
{
    struct buf pax;
    buf_init(&pax, 0);
    if (strlen(path) > NAME_FIELD)
        pax_record(&pax, "path", path, strlen(path));
    if (target && strlen(target) > NAME_FIELD)
        pax_record(&pax, "linkpath", target, strlen(target));
    if (size > USTAR_SIZE_MAX) {
        char text[24];
        int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
        pax_record(&pax, "size", text, (size_t)n);
    }
    if (pax.len > 0) {
        put_head(out, "pax", NULL, 'x', 0644, pax.len, mtime);
        require(buf_append(out, buf_data(&pax), pax.len, NULL) == 0);
        tar_head_pad(out, pax.len);
    }
    buf_finish(&pax);
    put_head(out, path, target, type, mode, size, mtime);
}
