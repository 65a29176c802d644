#include "diff/report.h"

#include "base/alloc.h"
#include "base/text.h"
#include "diff/changes.h"
#include "diff/facts.h"
#include "diff/texts.h"

#include <string.h>
#include <sys/stat.h>

#define SHOWN_MAX 8192 /* bytes of one string of a line, which is well under the line's limit then */

struct report {
    struct budget budget;
    struct volume *a, *b;
    struct sink *sink;
    json_t *notes, *facts; /* facts: lines that come before the files */
};

static json_t *shown(const char *bytes, size_t len)
{
    struct text text;

    text_init(&text, bytes, len, SHOWN_MAX, TEXT_DEFAULT);
    json_t *value = json_string(text.bytes);
    text_finish(&text);
    return value;
}

static json_t *shown_string(const char *text)
{
    return text ? shown(text, strlen(text)) : json_null();
}

static const char *type_name(uint32_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "link";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    case S_IFCHR:
    case S_IFBLK:
        return "device";
    }
    return "unknown";
}

/* The target of a link, or why it is not known. */
static json_t *target_json(struct volume *volume, uint32_t inode)
{
    autofree char *target = NULL;
    struct node node;

    if (volume_node(volume, inode, &node, NULL) < 0 || volume_target(volume, inode, &node, &target, NULL) < 0)
        return json_null();
    return shown_string(target);
}

static json_t *side_json(struct volume *volume, const struct change_side *side)
{
    char mode[8], device[32];

    if (!side->inode)
        return json_null();
    snprintf(mode, sizeof(mode), "%04o", side->mode & 07777);
    json_t *value = json_pack("{s:s, s:I, s:s, s:I, s:I, s:I}", "type", type_name(side->mode), "size",
                              (json_int_t)(side->size > INT64_MAX ? INT64_MAX : side->size), "mode", mode,
                              "uid", (json_int_t)side->uid, "gid", (json_int_t)side->gid, "mtime_ns",
                              (json_int_t)side->mtime_ns);
    if (S_ISLNK(side->mode))
        json_object_set_new(value, "target", target_json(volume, side->inode));
    snprintf(device, sizeof(device), "%u:%u", side->device >> 8 & 0xfffU,
             (side->device & 0xffU) | (side->device >> 12 & 0xfff00U));
    if (S_ISCHR(side->mode) || S_ISBLK(side->mode))
        json_object_set_new(value, "device", json_string(device));
    return value;
}

static json_t *row_json(const struct report *report, const struct change *change)
{
    json_t *row = json_pack("{s:s, s:s, s:o, s:o, s:o}", "kind", "file", "change", change_names[change->kind],
                            "path", shown_string(change->path), "old", side_json(report->a, &change->old),
                            "new", side_json(report->b, &change->new));
    if (change->from)
        json_object_set_new(row, "from", shown_string(change->from));
    return row;
}

/* ---- facts ---- */

static int add_package(void *user, const char *name, const char *arch, const char *old, const char *new,
                       struct error **err)
{
    struct report *report = user;

    json_array_append_new(report->facts, json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", "package", "name",
                                                   shown_string(name), "arch", shown_string(arch), "old",
                                                   shown_string(old), "new", shown_string(new)));
    return 0;
}

static int add_service(void *user, const char *unit, enum fact_service what, bool of_user, const char *path,
                       struct error **err)
{
    struct report *report = user;

    json_array_append_new(report->facts, json_pack("{s:s, s:o, s:s, s:b, s:o}", "kind", "service", "unit",
                                                   shown_string(unit), "what", fact_service_names[what],
                                                   "user", of_user, "path", shown_string(path)));
    return 0;
}

static json_t *head_json(const struct fact_head *head)
{
    if (!head->there)
        return json_null();
    return json_pack("{s:o, s:o}", "branch", head->branch[0] ? shown_string(head->branch) : json_null(),
                     "commit", head->commit[0] ? shown_string(head->commit) : json_null());
}

static int add_git(void *user, const char *path, const struct fact_head *old, const struct fact_head *new,
                   struct error **err)
{
    struct report *report = user;

    json_array_append_new(report->facts,
                          json_pack("{s:s, s:o, s:o, s:o}", "kind", "git", "path", shown_string(path), "old",
                                    head_json(old), "new", head_json(new)));
    return 0;
}

/* The files are the answer; what they mean is told as far as it can be read. Only time ends all of it. */
static int note_failure(struct report *report, int rc, struct error *failed, const char *what)
{
    if (rc == 0)
        return 0;
    autofree char *note = xasprintf("%s: %s", what, failed ? failed->message : "they cannot be read");
    json_array_append_new(report->notes, shown_string(note));
    error_free(failed);
    return 0;
}

static void find_facts(struct report *report, const struct changes *changes)
{
    static const char *const others[] = {"/var/lib/rpm/rpmdb.sqlite", "/lib/apk/db/installed",
                                         "/var/lib/pacman/local"};
    struct error *failed = NULL;

    int rc = facts_git(report->a, report->b, changes, add_git, report, &failed);
    note_failure(report, rc, steal(&failed), "heads of repositories");
    rc = facts_packages(report->a, report->b, changes, add_package, report, &failed);
    note_failure(report, rc, steal(&failed), "packages");
    rc = facts_services(report->a, report->b, changes, add_service, report, &failed);
    note_failure(report, rc, steal(&failed), "services");
    for (size_t i = 0; i < countof(others); i++)
        if (changes_at(changes, others[i]))
            json_array_append_new(report->notes,
                                  json_string("packages are told of dpkg alone; this system has others"));
}

/* ---- the two sides ---- */

static int open_sides(struct report *report, const struct disk *a, const struct disk *b, struct sink *sink,
                      struct error **err)
{
    *report = (struct report){.sink = sink, .notes = json_array(), .facts = json_array()};
    budget_begin(&report->budget, DIFF_WALL_S);
    int rc = volume_open(a, &report->budget, &report->a, err);
    if (rc < 0)
        return error_prefix(err, "the older state");
    rc = volume_open(b, &report->budget, &report->b, err);
    if (rc < 0)
        return error_prefix(err, "the newer state");
    const char *note = volume_note(report->a) ? volume_note(report->a) : volume_note(report->b);
    if (note)
        json_array_append_new(report->notes, json_string(note));
    return 0;
}

static void close_sides(struct report *report)
{
    if (report->a)
        volume_close(report->a);
    if (report->b)
        volume_close(report->b);
    json_decref(report->notes);
    json_decref(report->facts);
}

static int tell(struct report *report, const struct changes *changes, uint64_t blocks, struct error **err)
{
    int rc = sink_json(report->sink,
                       json_pack("{s:s, s:I, s:I, s:I, s:I, s:b, s:O, s:I, s:I, s:I}", "kind", "diff",
                                 "added", (json_int_t)changes->total[CHANGE_ADDED], "changed",
                                 (json_int_t)changes->total[CHANGE_CHANGED], "removed",
                                 (json_int_t)changes->total[CHANGE_REMOVED], "renamed",
                                 (json_int_t)changes->total[CHANGE_RENAMED], "cut", changes->cut, "notes",
                                 report->notes, "blocks", (json_int_t)blocks, "inodes",
                                 (json_int_t)changes->inodes, "folders", (json_int_t)report->budget.folders),
                       err);
    for (size_t i = 0; rc == 0 && i < json_array_size(report->facts); i++)
        rc = sink_json(report->sink, json_incref(json_array_get(report->facts, i)), err);
    for (size_t i = 0; rc == 0 && i < changes->count; i++)
        rc = sink_json(report->sink, row_json(report, &changes->items[i]), err);
    return rc;
}

int report_changes(const struct disk *a, const struct disk *b, struct sink *sink, struct error **err)
{
    struct difference where = {0};
    struct changes changes = {0};
    struct report report;

    int rc = open_sides(&report, a, b, sink, err);
    if (rc == 0)
        rc = difference_find(a, b, &where, err);
    if (rc == 0) {
        volume_add_replayed(report.a, &where);
        volume_add_replayed(report.b, &where);
        rc = changes_find(report.a, report.b, &where, &changes, err);
    }
    if (rc == 0) {
        find_facts(&report, &changes);
        rc = tell(&report, &changes, where.count, err);
    }
    changes_finish(&changes);
    difference_finish(&where);
    close_sides(&report);
    return rc;
}

/* One side of a file; not there is no error. *ret_text: the content, or a link's target; NULL: none. */
static int read_side(struct volume *volume, const char *path, struct change_side *ret_side, char **ret_text,
                     size_t *ret_len, bool *ret_large, struct error **err)
{
    struct error *failed = NULL;
    struct node node;
    uint32_t inode;

    int rc = volume_lookup(volume, path, &inode, &node, &failed);
    if (rc == -ERROR_NOT_FOUND) {
        error_free(failed);
        return 0;
    }
    if (rc < 0)
        return error_move(err, &failed);
    *ret_side = (struct change_side){.inode = inode,
                                     .mode = node.mode,
                                     .uid = node.uid,
                                     .gid = node.gid,
                                     .size = node.size,
                                     .mtime_ns = node.mtime_ns};
    if (S_ISLNK(node.mode)) {
        rc = volume_target(volume, inode, &node, ret_text, err);
        *ret_len = rc == 0 ? strlen(*ret_text) : 0;
        return rc;
    }
    *ret_large |= S_ISREG(node.mode) && node.size > TEXT_FILE_MAX;
    return S_ISREG(node.mode) && !*ret_large
               ? volume_file(volume, inode, TEXT_FILE_MAX, ret_text, ret_len, err)
               : 0;
}

static int keep_line(void *user, json_t *line, struct error **err)
{
    json_array_append_new(user, line);
    return 0;
}

int report_text(const struct disk *a, const struct disk *b, const char *path, struct sink *sink,
                struct error **err)
{
    autofree char *old = NULL, *new = NULL;
    struct change change = {.kind = CHANGE_CHANGED, .path = (char *)(uintptr_t)path};
    size_t old_len = 0, new_len = 0;
    bool large = false, binary = false;
    struct report report;

    int rc = open_sides(&report, a, b, sink, err);
    if (rc == 0)
        rc = read_side(report.a, path, &change.old, &old, &old_len, &large, err);
    if (rc == 0)
        rc = read_side(report.b, path, &change.new, &new, &new_len, &large, err);
    if (rc == 0 && !change.old.inode && !change.new.inode)
        rc = error_set(err, ERROR_NOT_FOUND, "there is no \"%s\" in either state", path);
    if (rc == 0 && !large)
        rc = texts_compare(old, old_len, new, new_len, keep_line, report.facts, &binary, err);
    if (rc == 0) {
        if (!change.old.inode || !change.new.inode)
            change.kind = change.old.inode ? CHANGE_REMOVED : CHANGE_ADDED;
        json_t *row = row_json(&report, &change);
        json_object_set_new(row, "binary", json_boolean(binary));
        json_object_set_new(row, "too_large", json_boolean(large));
        rc = sink_json(sink, row, err);
    }
    for (size_t i = 0; rc == 0 && i < json_array_size(report.facts); i++)
        rc = sink_json(sink, json_incref(json_array_get(report.facts, i)), err);
    close_sides(&report);
    return rc;
}
