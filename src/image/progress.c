#include "image/progress.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* apt counts in powers of 1000: "25.4 MB", "49.4 kB", "812 B". 0 if it is no size. */
static uint64_t parse_size(const char *s)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};
    char *end;
    double value = strtod(s, &end);
    if (end == s || value < 0 || value > 1e6)
        return 0;
    end += strspn(end, " ");
    size_t len = strcspn(end, " ]/");
    for (size_t i = 0; i < countof(units); i++)
        if (strlen(units[i].unit) == len && !strncmp(end, units[i].unit, len))
            return (uint64_t)(value * units[i].factor);
    return 0;
}

/* The n-th word (from 0) of a line as text that is safe to show. */
static void take_word(struct progress *progress, const char *line, int n)
{
    const char *p = line + strspn(line, " ");
    while (n-- > 0) {
        p += strcspn(p, " ");
        p += strspn(p, " ");
    }
    size_t len = 0;
    for (; *p > ' ' && *p < 0x7f && len + 1 < sizeof(progress->text); p++)
        progress->text[len++] = *p;
    progress->text[len] = '\0';
}

static void take_text(struct progress *progress, const char *text)
{
    size_t len = 0;
    for (; *text && len + 1 < sizeof(progress->text); text++)
        progress->text[len++] = (char)(*text >= ' ' && *text < 0x7f ? *text : '?');
    progress->text[len] = '\0';
}

static bool enter(struct progress *progress, const char *phase, uint64_t done, uint64_t total)
{
    progress->phase = phase;
    progress->done = done;
    progress->total = total;
    return true;
}

/* The core of the system and the template's packages are two rounds of the same: each has names of its own,
 * so that no count falls back. */
static bool enter_round(struct progress *progress, const char *core, const char *rest, uint64_t done,
                        uint64_t total)
{
    return enter(progress, progress->core ? core : rest, done, total);
}

/* dpkg unpacks some and sets some up, in turns: one count of both. A package counts when both are done. */
static bool take_package(struct progress *progress, const char *doing, const char *line, int word)
{
    size_t len = strlen(doing);
    uint64_t halves = progress->unpacked + progress->set_up;
    take_word(progress, line, word);
    memmove(progress->text + len, progress->text, sizeof(progress->text) - len);
    memcpy(progress->text, doing, len);
    progress->text[sizeof(progress->text) - 1] = '\0';
    return enter_round(progress, "core-install", "install", (halves + 1) / 2, progress->packages);
}

static bool begins(const char *line, const char *with)
{
    return !strncmp(line, with, strlen(with));
}

/* "Get:3 http://… trixie/main amd64 libgcc-s1 amd64 14.2.0-19 [72.8 kB]" */
static bool take_get(struct progress *progress, const char *line)
{
    const char *bracket = strrchr(line, '[');
    progress->downloaded += bracket ? parse_size(bracket + 1) : 0;
    if (!progress->to_download) { /* lists, before packages */
        take_word(progress, line, 2);
        return enter(progress, "prepare", 0, 0);
    }
    if (progress->downloaded > progress->to_download)
        progress->downloaded = progress->to_download;
    take_word(progress, line, 4);
    return enter_round(progress, "core-download", "download", progress->downloaded, progress->to_download);
}

/* "25.4 MB of archives." or "1 MB/175 MB of archives." apt says it again, with nothing, of what is here. */
static bool take_need(struct progress *progress, const char *size)
{
    uint64_t needed = parse_size(size);
    if (!needed)
        return false;
    progress->downloaded = 0;
    progress->to_download = needed;
    progress->text[0] = '\0';
    return enter_round(progress, "core-download", "download", 0, needed);
}

/* What the builder itself is at. */
static bool take_stage(struct progress *progress, const char *line)
{
    if (begins(line, "running apt-get update")) {
        take_text(progress, "package lists");
        return enter(progress, "prepare", 0, 0);
    }
    if (begins(line, "downloading packages with apt"))
        progress->core = true;
    else if (begins(line, "installing remaining packages"))
        progress->core = false;
    if (!begins(line, "extracting archives"))
        return false;
    take_text(progress, "extracting");
    return enter_round(progress, "core-install", "install", 0, progress->packages);
}

bool progress_line(struct progress *progress, const char *line)
{
    const char *p;
    if (begins(line, "hutch: setup ") || begins(line, "hutch: configure")) {
        take_text(progress, line + strlen("hutch: "));
        return enter(progress, "setup", 0, 0);
    }
    if (begins(line, "I: "))
        return take_stage(progress, line + strlen("I: "));
    if (begins(line, "Need to get "))
        return take_need(progress, line + strlen("Need to get "));
    if ((p = strstr(line, " newly installed, "))) {
        const char *from = p;
        while (from > line && from[-1] >= '0' && from[-1] <= '9')
            from--;
        progress->packages = strtoull(from, NULL, 10);
        progress->unpacked = progress->set_up = 0;
        return false;
    }
    if (begins(line, "Get:"))
        return take_get(progress, line);
    if (begins(line, "Unpacking ")) {
        progress->unpacked += progress->unpacked < progress->packages;
        return take_package(progress, "unpacking ", line, 1);
    }
    if (begins(line, "Setting up ")) {
        progress->set_up += progress->set_up < progress->packages;
        return take_package(progress, "setting up ", line, 2);
    }
    return false;
}

enum progress_failure progress_failure(const char *line)
{
    static const struct {
        const char *words;
        enum progress_failure failure;
    } signs[] = {
        {"No space left on device", PROGRESS_NO_SPACE},
        {"You don't have enough free space", PROGRESS_NO_SPACE},
        {"Disk quota exceeded", PROGRESS_NO_SPACE},
        {"Could not resolve", PROGRESS_NETWORK},
        {"Temporary failure resolving", PROGRESS_NETWORK},
        {"Could not connect", PROGRESS_NETWORK},
        {"Unable to connect", PROGRESS_NETWORK},
        {"Cannot initiate the connection", PROGRESS_NETWORK},
        {"Connection failed", PROGRESS_NETWORK},
        {"Connection timed out", PROGRESS_NETWORK},
        {"Connection refused", PROGRESS_NETWORK},
        {"Network is unreachable", PROGRESS_NETWORK},
        {"does not have a Release file", PROGRESS_NETWORK},
        {"Failed to fetch", PROGRESS_NETWORK},
        {"NO_PUBKEY", PROGRESS_KEY},
        {"is not signed", PROGRESS_KEY},
        {"E: Unable to locate package", PROGRESS_PACKAGE},
        {"has no installation candidate", PROGRESS_PACKAGE},
    };
    for (size_t i = 0; i < countof(signs); i++)
        if (strstr(line, signs[i].words))
            return signs[i].failure;
    return PROGRESS_OTHER;
}
