#include "guard/path.h"

#include <string.h>

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return -1;
}

static bool is_unreserved(int byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte > 0 && strchr("-._~", byte));
}

/* Writes one %-code as it is to stand: decoded, or with upper-case digits. Returns the bytes written, 0 if it
 * may not be. */
static size_t put_code(const char *in, size_t left, char *out)
{
    static const char digits[] = "0123456789ABCDEF";
    int high = left >= 3 ? hex_value(in[1]) : -1, low = left >= 3 ? hex_value(in[2]) : -1;
    if (high < 0 || low < 0)
        return 0;
    int byte = high << 4 | low;
    if (byte == 0 || byte == '/' || byte == '\\')
        return 0;
    out[0] = (char)byte;
    if (is_unreserved(byte))
        return 1;
    out[0] = '%';
    out[1] = digits[high];
    out[2] = digits[low];
    return 3;
}

/* "." or ".." with parameters, which some servers take off before they resolve it. */
static bool is_dressed_dot(const char *segment, size_t len)
{
    size_t dots = 0;
    while (dots < len && segment[dots] == '.')
        dots++;
    if (dots != 1 && dots != 2)
        return false;
    return dots < len && (segment[dots] == ';' || (len - dots >= 3 && memcmp(segment + dots, "%3B", 3) == 0));
}

/* Resolves the segment at the end of out, which begins at `from` behind a slash. Returns the new length. */
static size_t resolve(const char *out, size_t from, size_t len)
{
    size_t n = len - from;
    if (n == 1 && out[from] == '.')
        return from;
    if (n != 2 || out[from] != '.' || out[from + 1] != '.')
        return len;
    if (from == 1)
        return 1; /* nothing is above the root */
    for (from--; out[from - 1] != '/';)
        from--;
    return from;
}

bool path_canonical(const char *target, size_t len, char *out, size_t *ret_len, size_t *ret_query)
{
    for (size_t i = 0; i < len; i++)
        if (target[i] <= 0x20 || target[i] >= 0x7f || target[i] == '#')
            return false;
    const char *mark = memchr(target, '?', len);
    size_t end = mark ? (size_t)(mark - target) : len;
    if (end == 0 || target[0] != '/' || memchr(target, '\\', end))
        return false;

    size_t n = 1, i = 0;
    out[0] = '/';
    while (i < end) {
        if (target[i] == '/') {
            i++;
            continue;
        }
        size_t from = n, step;
        for (; i < end && target[i] != '/'; i += step == 0 ? 1 : 3) {
            step = 0;
            if (target[i] != '%') {
                out[n++] = target[i];
                continue;
            }
            step = put_code(target + i, end - i, out + n);
            if (step == 0)
                return false;
            n += step;
        }
        if (is_dressed_dot(out + from, n - from))
            return false;
        size_t resolved = resolve(out, from, n);
        if (resolved == n && i < end)
            out[n++] = '/';
        else
            n = resolved;
    }
    out[n] = 0;
    *ret_len = n;
    *ret_query = end;
    return true;
}
