#include "base/units.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* The digits at *p as a number; *p moves behind them. False: no digit, or too large. */
static bool take_number(const char **p, uint64_t *ret)
{
    const char *start = *p;
    uint64_t value = 0;
    for (; **p >= '0' && **p <= '9'; ++*p)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, **p - '0', &value))
            return false;
    *ret = value;
    return *p > start;
}

int units_parse_size(const char *s, uint64_t *ret_bytes, struct error **err)
{
    static const char letters[] = "KMGT";
    const char *p = s;
    uint64_t value;
    bool ok = take_number(&p, &value);
    const char *letter = ok && *p ? strchr(letters, *p) : NULL;
    if (letter) {
        ok = !__builtin_mul_overflow(value, UINT64_C(1) << (10 * (letter - letters + 1)), &value);
        p++;
    }
    if (!ok || *p) {
        error_set(err, ERROR_INVALID, "\"%s\" is not a size", s);
        error_hint(err, "write a size as 512M, 2G or 1T");
        return -ERROR_INVALID;
    }
    *ret_bytes = value;
    return 0;
}

int units_parse_duration(const char *s, uint64_t *ret_seconds, struct error **err)
{
    const char *p = s;
    uint64_t value, unit = 1;
    bool ok = take_number(&p, &value);
    if (ok && *p) {
        unit = *p == 's' ? 1 : *p == 'm' ? 60 : *p == 'h' ? 3600 : *p == 'd' ? 86400 : 0;
        p++;
    }
    if (!ok || *p || !unit || __builtin_mul_overflow(value, unit, &value)) {
        error_set(err, ERROR_INVALID, "\"%s\" is not a duration", s);
        error_hint(err, "write a duration as 90s, 5m, 2h or 3d");
        return -ERROR_INVALID;
    }
    *ret_seconds = value;
    return 0;
}

int units_parse_number(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value, struct error **err)
{
    const char *p = s;
    uint64_t value;
    if (!take_number(&p, &value) || *p || value < min || value > max)
        return error_set(err, ERROR_INVALID, "\"%s\" is not a number from %llu to %llu", s,
                         (unsigned long long)min, (unsigned long long)max);
    *ret_value = value;
    return 0;
}

char *units_format_size(uint64_t bytes, char ret[UNITS_SIZE_MAX])
{
    static const char letters[] = "BKMGTPE";
    int step = 0;
    while (step < 6 && bytes >> (10 * step) >= 1024)
        step++;
    uint64_t unit = UINT64_C(1) << (10 * step);
    uint64_t whole = bytes / unit, rest = bytes % unit;
    uint64_t tenths = (rest * 10 + unit / 2) / unit;
    if (!step || whole >= 10) {
        whole += tenths >= 5 && step;
        tenths = 0;
    }
    if (tenths == 10) {
        whole++;
        tenths = 0;
    }
    /* 1023.7K was rounded up to the next unit. */
    if (whole == 1024 && step < 6) {
        whole = 1;
        step++;
    }
    if (tenths)
        snprintf(ret, UNITS_SIZE_MAX, "%u.%u%c", (unsigned)whole, (unsigned)tenths, letters[step]);
    else
        snprintf(ret, UNITS_SIZE_MAX, "%u%c", (unsigned)whole, letters[step]);
    return ret;
}

char *units_format_duration(uint64_t seconds, char ret[UNITS_DURATION_MAX])
{
    static const struct {
        uint64_t seconds;
        char letter;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    size_t i = 0;
    while (i < countof(units) - 1 && seconds < units[i].seconds)
        i++;
    unsigned long long whole = seconds / units[i].seconds;
    unsigned rest = i < countof(units) - 1 ? seconds % units[i].seconds / units[i + 1].seconds : 0;
    if (rest)
        snprintf(ret, UNITS_DURATION_MAX, "%llu%c %u%c", whole % 1000000000000000, units[i].letter,
                 rest % 100, units[i + 1].letter);
    else
        snprintf(ret, UNITS_DURATION_MAX, "%llu%c", whole, units[i].letter);
    return ret;
}

char *units_format_time(int64_t ns, char ret[UNITS_TIME_MAX])
{
    time_t seconds = ns / 1000000000;
    int rest = ns % 1000000000;
    if (rest < 0) {
        rest += 1000000000;
        seconds--;
    }
    struct tm tm;
    require(gmtime_r(&seconds, &tm));
    size_t n = strftime(ret, UNITS_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret + n, UNITS_TIME_MAX - n, ".%03dZ", rest / 1000000);
    return ret;
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    require(clock_gettime(clock, &now) == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t units_now_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
}

int64_t units_monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

char *units_random_hex(size_t n)
{
    char *out = xrealloc(NULL, 2 * n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char byte;
        while (getrandom(&byte, 1, 0) != 1)
            require(errno == EINTR);
        out[2 * i] = "0123456789abcdef"[byte >> 4];
        out[2 * i + 1] = "0123456789abcdef"[byte & 15];
    }
    out[2 * n] = '\0';
    return out;
}
