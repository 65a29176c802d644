/* Feeds files to a fuzz target: those that are named, or all of the target's corpus (tests/fuzz/corpus/NAME
 * below $srcdir). */
#include "base/alloc.h"
#include "base/file.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int feed(const char *path)
{
    auto(error) struct error *err = NULL;
    autofree char *data = NULL;
    size_t len;
    if (file_read(path, INPUT_MAX, &data, &len, &err) < 0) {
        fprintf(stderr, "%s\n", err->message);
        return 1;
    }
    LLVMFuzzerTestOneInput((const uint8_t *)data, len);
    return 0;
}

static int feed_folder(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        return 1;
    }
    int bad = 0;
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        autofree char *file = file_join(path, entry->d_name);
        bad |= feed(file);
        count++;
    }
    closedir(dir);
    printf("%u inputs of %s\n", count, path);
    return bad || count == 0;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    alarm(300);
    if (argc > 1) {
        int bad = 0;
        for (int i = 1; i < argc; i++)
            bad |= feed(argv[i]);
        return bad;
    }
    const char *name = strstr(argv[0], "fuzz_");
    for (const char *later; name && (later = strstr(name + 1, "fuzz_"));)
        name = later;
    if (!name) {
        fprintf(stderr, "%s: name the files to feed\n", argv[0]);
        return 2;
    }
    const char *source = getenv("srcdir");
    autofree char *folder =
        xasprintf("%s/tests/fuzz/corpus/%s", source ? source : ".", name + strlen("fuzz_"));
    return feed_folder(folder);
}
