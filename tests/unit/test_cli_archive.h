/* test_cli_archive.h: archives made by hand, and what came of reading them; for the tests of tar and untar.
 */
#ifndef HUTCH_TEST_CLI_ARCHIVE_H
#define HUTCH_TEST_CLI_ARCHIVE_H

#include "test_base_scratch.h"

#include "base/buf.h"
#include "base/spawn.h"
#include "cli/tar.h"
#include "cli/tree.h"
#include "cli/untar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- making archives by hand ---- */

static inline void octal(char *field, size_t size, unsigned long long value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value >>= 3)
        field[i] = (char)('0' + (value & 7));
}

static inline void finish_head(char *head)
{
    unsigned sum = 0;
    memset(head + 148, ' ', 8);
    for (int i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
}

/* One entry with its body, filled up to whole blocks. */
static inline void entry(struct buf *out, char type, const char *name, const char *target, const char *body,
                         size_t len)
{
    char head[TAR_BLOCK] = {0};
    memcpy(head, name, strnlen(name, 100));
    octal(head + 100, 8, type == '5' ? 0755 : 0644);
    octal(head + 108, 8, 0);
    octal(head + 116, 8, 0);
    octal(head + 124, 12, len);
    octal(head + 136, 12, 0);
    head[156] = type;
    if (target)
        memcpy(head + 157, target, strnlen(target, 100));
    memcpy(head + 257, "ustar\00000", 8);
    finish_head(head);
    assert_int_equal(buf_append(out, head, sizeof(head), NULL), 0);
    assert_int_equal(buf_append(out, body, len, NULL), 0);
    static const char zeros[TAR_BLOCK];
    assert_int_equal(buf_append(out, zeros, (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK, NULL), 0);
}

static inline void folder(struct buf *out, const char *name)
{
    entry(out, '5', name, NULL, "", 0);
}

static inline void file(struct buf *out, const char *name, const char *body)
{
    entry(out, '0', name, NULL, body, strlen(body));
}

/* Changes the last head of out (which has no body) and mends its sum. */
static inline char *last_head(struct buf *out)
{
    return (char *)(uintptr_t)buf_data(out) + out->len - TAR_BLOCK;
}

static inline void end(struct buf *out)
{
    static const char zeros[2 * TAR_BLOCK];
    assert_int_equal(buf_append(out, zeros, sizeof(zeros), NULL), 0);
}

/* ---- reading them ---- */

struct notes {
    size_t count;
    char last[512];
};

static inline void note(const char *text, void *user)
{
    struct notes *notes = user;
    notes->count++;
    snprintf(notes->last, sizeof(notes->last), "%s", text);
}

/* Unpacks below SCRATCH/place, "top" as "new", in pieces. The scratch folder has a file "outside" beside it.
 */
static inline int unpack_at(const char *scratch, const struct buf *archive, size_t piece, struct notes *notes,
                            struct error **err)
{
    autofree char *place = file_join(scratch, "place");
    mkdir(place, 0700);
    autoclose int fd = open(place, O_RDONLY | O_DIRECTORY);
    const struct untar_options options = {.folder = fd,
                                          .expect = "top",
                                          .as = "new",
                                          .entries_max = 1000,
                                          .bytes_max = 1 << 20,
                                          .note = note,
                                          .user = notes};
    auto(untar) struct untar *untar = untar_create(&options);
    int rc = 0;
    for (size_t at = 0; at < archive->len && rc == 0; at += piece)
        rc = untar_feed(untar, buf_data(archive) + at, archive->len - at < piece ? archive->len - at : piece,
                        err);
    if (rc == 0)
        rc = untar_end(untar, err);
    return rc;
}

static inline void unpack_ok(const char *scratch, struct buf *archive, size_t skipped)
{
    static const size_t pieces[] = {1 << 20, 1, 511, 513};
    for (size_t i = 0; i < countof(pieces); i++) {
        struct notes notes = {0};
        auto(error) struct error *err = NULL;
        if (unpack_at(scratch, archive, pieces[i], &notes, &err) < 0)
            fail_msg("refused: %s", err->message);
        if (notes.count != skipped)
            fail_msg("%zu entries left out, wanted %zu: %s", notes.count, skipped, notes.last);
    }
    buf_finish(archive);
}

/* The archive must be refused as a whole, with these words. */
static inline void unpack_refused(const char *scratch, struct buf *archive, enum error_code code,
                                  const char *words)
{
    struct notes notes = {0};
    assert_error(unpack_at(scratch, archive, 4096, &notes, &err), (int)code, words);
    buf_finish(archive);
}

static inline bool there(const char *scratch, const char *name)
{
    autofree char *path = file_join(scratch, name);
    struct stat st;
    return lstat(path, &st) == 0;
}

static inline void assert_content(const char *scratch, const char *name, const char *want)
{
    autofree char *path = file_join(scratch, name), *data = NULL;
    size_t len;
    assert_ok(file_read(path, 1 << 20, &data, &len, &err));
    assert_string_equal(data, want);
}

/* No temporary is left anywhere below. */
static inline void assert_no_temporaries(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *item; (item = readdir(dir));) {
        if (strncmp(item->d_name, ".hutch-", 7) == 0)
            fail_msg("%s/%s was left", path, item->d_name);
        autofree char *below = file_join(path, item->d_name);
        struct stat st;
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0 && lstat(below, &st) == 0 &&
            S_ISDIR(st.st_mode))
            assert_no_temporaries(below);
    }
    closedir(dir);
}

#endif
