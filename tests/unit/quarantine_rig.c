#include "quarantine_rig.h"

static char folder[] = "/tmp/test-quarantine-XXXXXX";
char *rig_quarantine, *rig_mirror;

/* Runs a shell line in the test's folder; the tests' own words only. */
char *rig_sh(const char *line)
{
    const char *argv[] = {"sh", "-ec", line, NULL};
    struct spawn spawn = {.argv = argv, .cwd = folder, .in = -1, .out = -1, .err = -1};
    struct error *err = NULL;
    char *out = NULL;
    if (spawn_run(&spawn, 120000, 1 << 20, &out, &err) < 0)
        fail_msg("%s: %s", line, err->message);
    out[strcspn(out, "\n")] = '\0';
    return out;
}

void rig_run(const char *line)
{
    free(rig_sh(line));
}

int rig_make(void **state)
{
    alarm(900);
    assert_non_null(mkdtemp(folder));
    setenv("HOME", folder, 1);
    setenv("HUTCH_HOME", folder, 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    rig_run("git config --global user.name T; git config --global user.email t@localhost;"
            "git config --global init.defaultBranch main; git config --global --add safe.directory '*'");
    rig_quarantine = xasprintf("%s/q/app.git", folder);
    rig_mirror = xasprintf("%s/mirror.git", folder);
    return 0;
}

int rig_remove(void **state)
{
    free(rig_quarantine);
    free(rig_mirror);
    return file_remove_tree(folder, NULL);
}

/* A machine's repository and work tree as after the first `up`, a rig_mirror, and an empty quarantine. */
int rig_fresh(void **state)
{
    struct error *err = NULL;

    rig_run("rm -rf q mirror.git bare.git work marker;"
            "git init -q seed.$$; cd seed.$$; echo 1 >a; git add a; git commit -qm one; cd ..;"
            "git clone -q --mirror seed.$$ mirror.git; git clone -q --bare seed.$$ bare.git; git clone -q "
            "bare.git work;"
            "rm -rf seed.$$");
    if (quarantine_prepare(rig_quarantine, rig_mirror, "sha1", &err) < 0)
        fail_msg("prepare: %s", err->message);
    return 0;
}

/* ---- the machine's end ---- */

static void *lie_thread(void *user)
{
    struct end *end = user;
    end->lie(end->fd, end->user);
    shutdown(end->fd, SHUT_RDWR);
    return NULL;
}

static int open_end(void *user, int *ret_fd, struct error **err)
{
    struct end *end = user;
    int fds[2];

    assert_int_equal(fd_socketpair(SOCK_STREAM, false, fds, err), 0);
    end->opened++;
    if (end->bare) {
        const char *argv[] = {"git", "upload-pack", end->bare, NULL};
        struct spawn spawn = {.argv = argv, .cwd = folder, .in = fds[1], .out = fds[1], .err = -1};
        assert_int_equal(spawn_start(&spawn, &end->pid, err), 0);
        close(fds[1]);
    } else {
        end->fd = fds[1];
        assert_int_equal(pthread_create(&end->thread, NULL, lie_thread, end), 0);
    }
    *ret_fd = fds[0];
    return 0;
}

static void close_end(int fd, bool failed, void *user)
{
    struct end *end = user;

    shutdown(fd, SHUT_RDWR);
    if (end->bare) {
        waitpid(end->pid, NULL, 0);
    } else {
        pthread_join(end->thread, NULL);
        close(end->fd);
    }
    close(fd);
}

char rig_said[65536];

static void on_progress(const char *text, uint64_t done, uint64_t total, uint64_t bytes, void *user)
{
    size_t len = strlen(rig_said);
    snprintf(rig_said + len, sizeof(rig_said) - len, "%s\n", text);
}

struct paths *rig_paths(void)
{
    struct paths *paths = NULL;

    assert_int_equal(paths_find(&paths, NULL), 0);
    free(paths->programs);
    paths->programs = realpath(getenv("PROGRAMS") ? getenv("PROGRAMS") : ".", NULL);
    return paths;
}

int rig_fetch_from(struct end *end, const atomic_bool *cancel, struct quarantine_news *news,
                   struct error **err)
{
    struct quarantine_link link = {.open = open_end, .close = close_end, .user = end};
    struct paths *paths;

    *news = (struct quarantine_news){0};
    rig_said[0] = '\0';
    paths = rig_paths();
    int rc = quarantine_fetch(paths, rig_quarantine, rig_mirror, &link, on_progress, NULL, cancel, news, err);
    paths_free(paths);
    return rc;
}

void rig_fetch(struct quarantine_news *news)
{
    struct end end = {.bare = "bare.git"};
    auto(error) struct error *err = NULL;
    if (rig_fetch_from(&end, NULL, news, &err) < 0)
        fail_msg("fetch: %s", err->message);
}

const struct quarantine_change *rig_find(const struct quarantine_news *news, const char *name)
{
    for (size_t i = 0; i < news->change_count; i++)
        if (!strcmp(news->changes[i].name, name))
            return &news->changes[i];
    return NULL;
}

char *rig_refs(void)
{
    return rig_sh("git --git-dir q/app.git for-each-ref | tr '\\n' ' '; test ! -e q/app.git.incoming; "
                  "git --git-dir q/app.git fsck --connectivity-only 2>&1 | grep -v dangling | tr '\\n' ' '");
}

void rig_refused(int rc, enum error_code code, const struct error *err, const char *refs_before)
{
    autofree char *now = rig_refs();
    assert_int_equal(rc, -(int)code);
    for (const char *p = err->message; *p; p++)
        assert_true((unsigned char)*p >= ' ');
    assert_string_equal(now, refs_before);
}
