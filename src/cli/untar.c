#include "cli/untar.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/words.h"
#include "cli/tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum state {
    HEAD,    /* collecting a head of 512 bytes */
    FILE_,   /* bytes of a file */
    EXTRA,   /* bytes of a pax or long-name head */
    IGNORE,  /* bytes of something that is left out */
    PAD,     /* up to the next whole block */
    TRAILER, /* both empty blocks were seen: only zeros may follow */
};

/* What a pax or long-name head said about the entry after it. */
struct extra {
    char *path, *target;
    bool have_size;
    uint64_t size;
};

struct untar {
    struct tree *tree;
    char *expect, *as;
    uint64_t bytes_max, entries_max, entries, bytes;
    size_t skipped;
    tar_note_fn note;
    void *user;
    enum state state;
    uint8_t head[TAR_BLOCK];
    size_t head_len;
    uint64_t left;   /* of the present body */
    unsigned pad;    /* behind it */
    char extra_type; /* of the head that is being collected */
    struct buf extra_body;
    struct extra extra;
    char *name; /* of the present entry, for messages */
    bool one_empty;
};

struct untar *untar_create(const struct untar_options *options)
{
    struct untar *untar = xnew(struct untar);
    untar->tree = tree_create(options->folder);
    untar->expect = xstrdup(options->expect);
    untar->as = xstrdup(options->as);
    untar->bytes_max = options->bytes_max;
    untar->entries_max = options->entries_max ? options->entries_max : UNTAR_ENTRIES_MAX;
    untar->note = options->note;
    untar->user = options->user;
    buf_init(&untar->extra_body, UNTAR_EXTRA_MAX);
    return untar;
}

static void extra_clear(struct extra *extra)
{
    free(extra->path);
    free(extra->target);
    *extra = (struct extra){0};
}

void untar_free(struct untar *untar)
{
    if (!untar)
        return;
    tree_free(untar->tree);
    extra_clear(&untar->extra);
    buf_finish(&untar->extra_body);
    free(untar->expect);
    free(untar->as);
    free(untar->name);
    free(untar);
}

size_t untar_skipped(const struct untar *untar)
{
    return untar->skipped;
}

uint64_t untar_bytes(const struct untar *untar)
{
    return untar->bytes;
}

/* Refuses the whole archive; the present entry's name stands before the words. */
static int refuse(const struct untar *untar, struct error **err, enum error_code code, const char *words)
{
    autofree char *safe = text_safe(untar->name ? untar->name : "");
    if (*safe)
        return error_set(err, code, _("the archive is refused at \"%s\": %s"), safe, words);
    return error_set(err, code, _("the archive is refused: %s"), words);
}

/* Leaves the present entry out and tells. */
static void skip(struct untar *untar, const char *why)
{
    untar->skipped++;
    autofree char *safe = text_safe(untar->name);
    autofree char *text = xasprintf("\"%s\": %s", safe, why);
    if (untar->note)
        untar->note(text, untar->user);
}

/* A number of a head: octal digits with blanks or NULs around, or GNU's base 256. Negative: not a number
 * below 2^62. */
static int64_t number(const uint8_t *field, size_t size)
{
    uint64_t value = 0;
    if (field[0] & 0x80) {
        value = field[0] & 0x7f;
        for (size_t i = 1; i < size; i++) {
            if (value >> 54)
                return -1;
            value = value << 8 | field[i];
        }
        return (int64_t)value;
    }
    size_t i = 0;
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    for (; i < size; i++) {
        if (field[i] != ' ' && field[i] != '\0')
            return -1;
    }
    return (int64_t)value;
}

/* The head's own checksum. */
static bool sum_is_right(const uint8_t *head)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : head[i];
    return number(head + 148, 8) == (int64_t)sum;
}

/* The path of a head: pax or long name first, else prefix and name. Caller frees. */
static char *head_path(const struct untar *untar)
{
    const char *head = (const char *)untar->head;
    if (untar->extra.path)
        return xstrdup(untar->extra.path);
    autofree char *name = xstrndup(head, 100);
    if (memcmp(head + 257, "ustar\0", 6) == 0 && head[345]) {
        autofree char *prefix = xstrndup(head + 345, 155);
        return xasprintf("%s/%s", prefix, name);
    }
    return xstrdup(name);
}

/* The target of a link's head; caller frees. */
static char *head_target(const struct untar *untar)
{
    return untar->extra.target ? xstrdup(untar->extra.target)
                               : xstrndup((const char *)untar->head + 157, 100);
}

/* Checks a path of the archive and puts the new top name in its place: no empty part, ".", "..", not
 * absolute, below `expect`. Caller frees; NULL with *err. */
static char *map_path(const struct untar *untar, const char *path, struct error **err)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (len > TAR_PATH_MAX) {
        refuse(untar, err, ERROR_LIMIT, _("a path is too long"));
        return NULL;
    }
    size_t depth = 0;
    for (size_t at = 0; at <= len;) {
        size_t part = 0;
        while (at + part < len && path[at + part] != '/')
            part++;
        const char *p = path + at;
        bool dots = (part == 1 && p[0] == '.') || (part == 2 && p[0] == '.' && p[1] == '.');
        if (part == 0 || dots || part > 255 || ++depth > TAR_DEPTH_MAX) {
            refuse(untar, err, ERROR_DENIED,
                   dots || part == 0 ? _("a path that could lead out")
                                     : _("a path that is too deep or long"));
            return NULL;
        }
        at += part + 1;
    }
    size_t top = strlen(untar->expect);
    if (len < top || strncmp(path, untar->expect, top) != 0 || (len > top && path[top] != '/')) {
        refuse(untar, err, ERROR_DENIED, _("a path outside of what was asked for"));
        return NULL;
    }
    return xasprintf("%s%.*s", untar->as, (int)(len - top), path + top);
}

/* Begins a body of size bytes in a state. */
static void begin_body(struct untar *untar, enum state state, uint64_t size)
{
    untar->state = state;
    untar->left = size;
    untar->pad = (unsigned)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

/* What to do about a failure of one entry: a conflict is noted and the entry left out, all else ends the
 * copy. */
static int entry_failed(struct untar *untar, struct error **own, struct error **err)
{
    struct error *e = *own;
    if (e->code == ERROR_DENIED || e->code == ERROR_EXISTS || e->code == ERROR_NOT_FOUND) {
        skip(untar, e->message);
        error_free(e);
        *own = NULL;
        return 0;
    }
    autofree char *safe = text_safe(untar->name);
    error_prefix(own, "\"%s\"", safe);
    return error_move(err, own);
}

/* A regular file: its temporary; the body follows. */
static int begin_file(struct untar *untar, const char *path, mode_t mode, uint64_t size, struct error **err)
{
    if (untar->bytes_max && (size > untar->bytes_max || untar->bytes > untar->bytes_max - size))
        return refuse(untar, err, ERROR_LIMIT, _("more bytes than there may be"));
    struct error *own = NULL;
    if (tree_file_begin(untar->tree, path, mode, &own) < 0) {
        int rc = entry_failed(untar, &own, err);
        begin_body(untar, IGNORE, size);
        return rc;
    }
    begin_body(untar, FILE_, size);
    return 0;
}

/* A link: made at once. */
static int make_link(struct untar *untar, char type, const char *path, struct error **err)
{
    autofree char *target = head_target(untar);
    struct error *own = NULL;
    int rc;
    if (type == '2') {
        rc = tree_symlink(untar->tree, path, target, &own);
    } else {
        autofree char *mapped = map_path(untar, target, err);
        if (!mapped)
            return -ERROR_DENIED;
        rc = tree_hard_link(untar->tree, path, mapped, &own);
    }
    return rc < 0 ? entry_failed(untar, &own, err) : 0;
}

/* One entry whose head is complete. */
static int begin_entry(struct untar *untar, char type, uint64_t size, struct error **err)
{
    free(untar->name);
    untar->name = head_path(untar);
    if (++untar->entries > untar->entries_max)
        return refuse(untar, err, ERROR_LIMIT, _("more entries than there may be"));
    size_t len = strlen(untar->name);
    if (type == '\0' && len > 0 && untar->name[len - 1] == '/')
        type = '5';
    autofree char *path = map_path(untar, untar->name, err);
    if (!path)
        return -ERROR_DENIED;
    int64_t mode = number(untar->head + 100, 8);
    if (mode < 0)
        return refuse(untar, err, ERROR_PROTOCOL, _("a mode that is no number"));
    if (type == '0' || type == '\0' || type == '7')
        return begin_file(untar, path, (mode_t)mode & 0777, size, err);
    if (size != 0)
        return refuse(untar, err, ERROR_PROTOCOL, _("an entry with bytes that can have none"));
    struct error *own = NULL;
    switch (type) {
    case '1':
    case '2':
        return make_link(untar, type, path, err);
    case '5':
        return tree_folder(untar->tree, path, (mode_t)mode & 0777, &own) < 0 ? entry_failed(untar, &own, err)
                                                                             : 0;
    case '3':
    case '4':
    case '6':
        skip(untar, type == '6' ? _("left out, a FIFO") : _("left out, a device"));
        return 0;
    default:
        return refuse(untar, err, ERROR_DENIED,
                      type == 'S' ? _("a sparse file") : _("an entry of unknown kind"));
    }
}

/* A whole head: an empty block, a head about the next one, or an entry. */
static int take_head(struct untar *untar, struct error **err)
{
    static const uint8_t empty[TAR_BLOCK];
    untar->head_len = 0;
    if (memcmp(untar->head, empty, TAR_BLOCK) == 0) {
        if (untar->one_empty)
            untar->state = TRAILER;
        untar->one_empty = true;
        return 0;
    }
    if (untar->one_empty || !sum_is_right(untar->head))
        return refuse(untar, err, ERROR_PROTOCOL, _("it is damaged or no archive"));
    int64_t head_size = number(untar->head + 124, 12);
    if (head_size < 0)
        return refuse(untar, err, ERROR_PROTOCOL, _("a size that is no number"));
    char type = (char)untar->head[156];
    if (type == 'x' || type == 'g' || type == 'L' || type == 'K') {
        if (head_size > UNTAR_EXTRA_MAX || ++untar->entries > untar->entries_max)
            return refuse(untar, err, ERROR_LIMIT, _("a head that is too long"));
        untar->extra_type = type;
        begin_body(untar, EXTRA, (uint64_t)head_size);
        return 0;
    }
    uint64_t size = untar->extra.have_size ? untar->extra.size : (uint64_t)head_size;
    int rc = begin_entry(untar, type, size, err);
    extra_clear(&untar->extra);
    return rc;
}

/* One pax record. Only what names and sizes an entry counts; a sparse file's would give its bytes another
 * meaning. */
static int take_record(struct untar *untar, const char *key, size_t key_len, const char *value, size_t len,
                       struct error **err)
{
    struct extra *extra = &untar->extra;
    bool is_path = key_len == 4 && memcmp(key, "path", 4) == 0;
    if (is_path || (key_len == 8 && memcmp(key, "linkpath", 8) == 0)) {
        char **slot = is_path ? &extra->path : &extra->target;
        if (len == 0 || memchr(value, '\0', len))
            return refuse(untar, err, ERROR_PROTOCOL, _("an empty or cut name"));
        free(*slot);
        *slot = xstrndup(value, len);
    } else if (key_len == 4 && memcmp(key, "size", 4) == 0) {
        uint64_t size = 0;
        for (size_t i = 0; i < len; i++) {
            if (value[i] < '0' || value[i] > '9' || size >> 58)
                return refuse(untar, err, ERROR_PROTOCOL, _("a size that is no number"));
            size = size * 10 + (uint64_t)(value[i] - '0');
        }
        extra->size = size;
        extra->have_size = len > 0;
    } else if (key_len >= 10 && memcmp(key, "GNU.sparse", 10) == 0) {
        return refuse(untar, err, ERROR_DENIED, _("a sparse file"));
    }
    return 0;
}

/* The records of a pax head: "LEN key=value\n" one behind the other. */
static int take_pax(struct untar *untar, bool global, struct error **err)
{
    const char *data = (const char *)buf_data(&untar->extra_body);
    size_t len = untar->extra_body.len;
    while (len > 0) {
        size_t total = 0, digits = 0;
        while (digits < len && digits < 6 && data[digits] >= '0' && data[digits] <= '9')
            total = total * 10 + (size_t)(data[digits++] - '0');
        const char *equals = NULL;
        if (digits > 0 && digits < len && data[digits] == ' ' && total > digits + 2 && total <= len &&
            data[total - 1] == '\n')
            equals = memchr(data + digits + 1, '=', total - digits - 2);
        if (!equals)
            return refuse(untar, err, ERROR_PROTOCOL, _("a pax head that is broken"));
        const char *key = data + digits + 1;
        size_t value_len = (size_t)(data + total - 1 - (equals + 1));
        /* A global record must not rename what comes later. */
        int rc = global ? 0 : take_record(untar, key, (size_t)(equals - key), equals + 1, value_len, err);
        if (rc < 0)
            return rc;
        data += total;
        len -= total;
    }
    return 0;
}

/* A complete pax or long-name head. */
static int take_extra(struct untar *untar, struct error **err)
{
    int rc = 0;
    if (untar->extra_type == 'x' || untar->extra_type == 'g') {
        rc = take_pax(untar, untar->extra_type == 'g', err);
    } else {
        char **slot = untar->extra_type == 'L' ? &untar->extra.path : &untar->extra.target;
        const char *data = (const char *)buf_data(&untar->extra_body);
        size_t len = untar->extra_body.len;
        free(*slot);
        *slot = len > 0 ? xstrndup(data, strnlen(data, len)) : xstrdup("");
    }
    buf_consume(&untar->extra_body, untar->extra_body.len);
    return rc;
}

/* A body is complete. */
static int end_body(struct untar *untar, struct error **err)
{
    enum state was = untar->state;
    untar->state = untar->pad ? PAD : HEAD;
    untar->left = untar->pad;
    untar->pad = 0;
    if (was == EXTRA)
        return take_extra(untar, err);
    struct error *own = NULL;
    if (was == FILE_ && tree_file_end(untar->tree, &own) < 0)
        return entry_failed(untar, &own, err);
    return 0;
}

/* Bytes of the present body. */
static int take_body(struct untar *untar, const uint8_t *data, size_t len, struct error **err)
{
    untar->left -= len;
    switch (untar->state) {
    case FILE_:
        untar->bytes += len;
        return tree_file_write(untar->tree, data, len, err);
    case EXTRA:
        return buf_append(&untar->extra_body, data, len, err);
    default:
        return 0;
    }
}

int untar_feed(struct untar *untar, const void *bytes, size_t len, struct error **err)
{
    const uint8_t *data = bytes;
    while (len > 0) {
        size_t n;
        int rc = 0;
        if (untar->state == TRAILER) {
            for (n = 0; n < len && data[n] == 0; n++)
                ;
            if (n < len)
                return refuse(untar, err, ERROR_PROTOCOL, _("there is something behind its end"));
        } else if (untar->state == HEAD) {
            n = TAR_BLOCK - untar->head_len < len ? TAR_BLOCK - untar->head_len : len;
            memcpy(untar->head + untar->head_len, data, n);
            untar->head_len += n;
            if (untar->head_len == TAR_BLOCK)
                rc = take_head(untar, err);
        } else {
            n = untar->left < len ? (size_t)untar->left : len;
            rc = take_body(untar, data, n, err);
        }
        /* A body of no bytes ends here too. */
        while (rc == 0 && untar->state != HEAD && untar->state != TRAILER && untar->left == 0)
            rc = end_body(untar, err);
        if (rc < 0)
            return rc;
        data += n;
        len -= n;
    }
    return 0;
}

int untar_end(struct untar *untar, struct error **err)
{
    if (untar->state == TRAILER)
        return 0;
    return refuse(untar, err, ERROR_PROTOCOL, _("it ends too early"));
}
