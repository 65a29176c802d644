#include "base/alloc.h"
#include "base/units.h"
#include "guest/cgroup.h"
#include "guest/claim.h"
#include "guest/session_table.h"
#include "wire/json.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ARGV_BYTES_MAX 4096         /* that are looked at */
#define ENVIRON_MAX    (128 * 1024) /* of a process, looked through for its session */
#define CGROUP_MAX     1024
#define PATH_SHOWN_MAX 255
#define SESSION_KEY    "HUTCH_SESSION="
#define REASON_KEY     "HUTCH_REASON="
#define REASON_MAX     200 /* bytes of it that are told */

struct search {
    struct claim_owner *owners;
    size_t count, open; /* open: not found yet */
    int64_t until_ns;
};

/* Sets the pid of every owner whose socket is this one. */
static void found_inode(struct search *search, uint64_t inode, pid_t pid)
{
    for (size_t i = 0; i < search->count; i++) {
        struct claim_owner *owner = &search->owners[i];
        if (owner->inode == inode && !owner->pid) {
            owner->pid = pid;
            search->open--;
        }
    }
}

/* Looks at what one process has open. */
static void search_process(struct search *search, pid_t pid)
{
    autofree char *path = xasprintf("/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    int entries = 0;

    if (!dir)
        return;
    for (struct dirent *entry; search->open && entries < CLAIM_SCAN_MAX && (entry = readdir(dir));
         entries++) {
        static const char prefix[] = "socket:[";
        char target[64];
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        if (n < (ssize_t)sizeof(prefix) || memcmp(target, prefix, sizeof(prefix) - 1) != 0)
            continue;
        target[n] = '\0';
        found_inode(search, strtoull(target + sizeof(prefix) - 1, NULL, 10), pid);
    }
    closedir(dir);
}

void claim_proc_search(struct claim_owner *owners, size_t count, const pid_t *recent, size_t recent_count)
{
    struct search search = {
        .owners = owners, .count = count, .until_ns = units_monotonic_ns() + CLAIM_SEARCH_MS * 1000000ll};

    for (size_t i = 0; i < count; i++)
        search.open += owners[i].inode != 0;
    for (size_t i = 0; i < recent_count && search.open; i++)
        search_process(&search, recent[i]);
    if (!search.open)
        return;
    DIR *proc = opendir("/proc");
    int processes = 0;
    for (struct dirent *entry; proc && search.open && processes < CLAIM_SCAN_MAX &&
                               units_monotonic_ns() < search.until_ns && (entry = readdir(proc));) {
        uint64_t pid;
        if (units_parse_number(entry->d_name, 1, INT32_MAX, &pid, NULL))
            continue;
        processes++;
        search_process(&search, (pid_t)pid);
    }
    if (proc)
        closedir(proc);
}

/* ---- one process ---- */

/* A prefix of a file of /proc/PID. Caller frees; *ret_len 0 when it cannot be read. */
static char *read_some(pid_t pid, const char *name, size_t max, size_t *ret_len)
{
    autofree char *path = xasprintf("/proc/%d/%s", (int)pid, name);
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *data = xcalloc(max + 1, 1);
    size_t len = 0;
    ssize_t n;

    while (fd >= 0 && len < max && (n = read(fd, data + len, max - len)) > 0)
        len += (size_t)n;
    *ret_len = len;
    return data;
}

static void read_link(pid_t pid, const char *name, char ret[PATH_SHOWN_MAX + 1])
{
    autofree char *path = xasprintf("/proc/%d/%s", (int)pid, name);
    char target[4096];
    ssize_t n = readlink(path, target, sizeof(target));

    n = n < 0 ? 0 : n > PATH_SHOWN_MAX ? PATH_SHOWN_MAX : n;
    memcpy(ret, target, (size_t)n);
    ret[n] = '\0';
}

/* The id up to the first byte that none can have. */
static bool take_id(const char *at, char ret[SESSION_ID_MAX + 1])
{
    size_t len = strcspn(at, "/\n");

    if (len > SESSION_ID_MAX)
        return false;
    memcpy(ret, at, len);
    ret[len] = '\0';
    return session_id_valid(ret);
}

/* By its cgroup, which a process cannot leave without being root; else by what it inherited. */
static bool find_session(pid_t pid, char ret[SESSION_ID_MAX + 1])
{
    static const char folder[] = "0::/hutch/" CGROUP_SESSIONS "/";
    size_t len;
    autofree char *group = read_some(pid, "cgroup", CGROUP_MAX, &len);
    const char *at = strstr(group, folder);

    if (at && take_id(at + strlen(folder), ret))
        return strcmp(ret, "tasks") != 0;
    autofree char *environment = read_some(pid, "environ", ENVIRON_MAX, &len);
    for (size_t i = 0; i < len; i += strlen(environment + i) + 1)
        if (!strncmp(environment + i, SESSION_KEY, strlen(SESSION_KEY)))
            return take_id(environment + i + strlen(SESSION_KEY), ret);
    return false;
}

/* What the program wants to have said to the person who is asked. NULL: nothing. Caller frees. */
static json_t *read_reason(pid_t pid)
{
    size_t len;
    autofree char *environment = read_some(pid, "environ", ENVIRON_MAX, &len);

    for (size_t i = 0; i < len; i += strlen(environment + i) + 1) {
        const char *words = environment + i + strlen(REASON_KEY);

        if (!strncmp(environment + i, REASON_KEY, strlen(REASON_KEY)) && *words)
            return json_bytes(words, strnlen(words, REASON_MAX));
    }
    return NULL;
}

/* ASCII JSON. Caller frees. */
static char *ascii(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
    require(text != NULL);
    return text;
}

/* The first bytes of an argument that fit into room, quotes counted; NULL: none do. */
static json_t *fitting(const char *arg, size_t *len, size_t room, size_t *ret_size)
{
    while (*len > 0) {
        json_t *value = json_bytes(arg, *len);
        autofree char *text = ascii(value);
        *ret_size = strlen(text);
        if (*ret_size <= room)
            return value;
        json_decref(value);
        size_t share = *len * room / *ret_size;
        *len = share < *len ? share : *len - 1;
    }
    return NULL;
}

/* As many arguments as room has place for; the last may be a part. */
static json_t *read_argv(pid_t pid, size_t room, bool *ret_cut)
{
    size_t len, size;
    autofree char *data = read_some(pid, "cmdline", ARGV_BYTES_MAX, &len);
    json_t *argv = json_array();

    *ret_cut = len == ARGV_BYTES_MAX;
    /* What set a title of its own (npm does) left the rest of its arguments empty. */
    while (len > 1 && !data[len - 1] && !data[len - 2])
        len--;
    for (size_t at = 0; at < len; at += strlen(data + at) + 1) {
        size_t whole = strlen(data + at), part = whole;
        json_t *value = whole ? fitting(data + at, &part, room, &size) : room > 2 ? json_string("") : NULL;
        if (!whole)
            size = 2;
        if (value)
            json_array_append_new(argv, value);
        if (!value || part < whole) {
            *ret_cut = true;
            break;
        }
        room -= size + 1 < room ? size + 1 : room;
    }
    return argv;
}

static void describe_container(const struct claim_ends *ends, struct claim *ret)
{
    char address[INET6_ADDRSTRLEN] = "";

    if (ends->from.ss_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)&ends->from)->sin_addr, address, sizeof(address));
    else
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)&ends->from)->sin6_addr, address, sizeof(address));
    snprintf(ret->exe, sizeof(ret->exe), "container %s", address);
    snprintf(ret->text, sizeof(ret->text), "{\"exe\":\"%s\"}", ret->exe);
}

void claim_proc_describe(const struct claim_owner *owner, const struct claim_ends *ends, struct claim *ret)
{
    char cwd[PATH_SHOWN_MAX + 1], session[SESSION_ID_MAX + 1];
    bool cut;

    memset(ret, 0, sizeof(*ret));
    if (!owner->inode && !claim_ends_local(ends)) {
        describe_container(ends, ret);
        return;
    }
    auto(json) json_t *o = json_object();
    if (owner->inode)
        json_object_set_new(o, "uid", json_integer(owner->uid));
    if (owner->pid) {
        ret->pid = owner->pid;
        read_link(owner->pid, "exe", ret->exe);
        read_link(owner->pid, "cwd", cwd);
        json_object_set_new(o, "pid", json_integer(owner->pid));
        json_object_set_new(o, "exe", json_bytes(ret->exe, strlen(ret->exe)));
        json_object_set_new(o, "cwd", json_bytes(cwd, strlen(cwd)));
        if (find_session(owner->pid, session))
            json_object_set_new(o, "session", json_string(session));
        json_t *reason = read_reason(owner->pid);
        if (reason)
            json_object_set_new(o, "says", reason);
        json_object_set_new(o, "cut", json_true());
        json_object_set_new(o, "argv", json_array());
        autofree char *without = ascii(o);
        json_object_set_new(o, "argv", read_argv(owner->pid, CLAIM_TEXT_MAX - strlen(without), &cut));
        if (!cut)
            json_object_del(o, "cut");
    }
    autofree char *text = ascii(o);
    snprintf(ret->text, sizeof(ret->text), "%s", strlen(text) <= CLAIM_TEXT_MAX ? text : "{}");
}
