/* review_world.h: for the tests of src/review: real repositories made by git in a folder of their own: "work"
 * (the agent's), "mirror.git" (what the user's remote has) and "quarantine.git" (the mirror as its
 * alternate). */
#ifndef HUTCH_TEST_REVIEW_WORLD_H
#define HUTCH_TEST_REVIEW_WORLD_H

#include "base/spawn.h"

#include "test_base_scratch.h"

/* Runs a shell line in the test's folder; the tests' own words only. Gives its first line; caller frees. */
static inline char *world_sh(void **state, const char *line)
{
    const char *argv[] = {"bash", "-ec", line, NULL};
    struct spawn spawn = {.argv = argv, .cwd = *state, .in = -1, .out = -1, .err = -1};
    struct error *err = NULL;
    char *out = NULL;

    if (spawn_run(&spawn, 60000, 1 << 20, &out, &err) < 0)
        fail_msg("%s: %s", line, err->message);
    out[strcspn(out, "\n")] = '\0';
    return out;
}
#define run(line) free(world_sh(state, line))

static inline int world_setup(void **state)
{
    alarm(240);
    scratch_setup(state);
    setenv("HOME", *state, 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    unsetenv("XDG_CONFIG_HOME");
    run("git config --global user.name User; git config --global user.email user@localhost;"
        "git config --global init.defaultBranch main; git config --global core.autocrlf false;"
        "git init -q --bare mirror.git; git init -q work; cd work;"
        "printf 'one\\ntwo\\nthree\\n' >a.txt; mkdir src; printf 'int x;\\n' >src/x.c;"
        "printf '{\"scripts\": {\"test\": \"true\"}, \"version\": \"1\"}' >package.json;"
        "git add .; git commit -qm 'the beginning'; git push -q ../mirror.git main;"
        "cd ..; git init -q --bare quarantine.git;"
        "echo \"$PWD/mirror.git/objects\" >quarantine.git/objects/info/alternates;"
        "git config --global user.name Agent; git config --global user.email agent@localhost");
    return 0;
}

#define world_test(fn) cmocka_unit_test_setup_teardown(fn, world_setup, scratch_teardown)

/* Pushes the work's HEAD into the quarantine as a branch of the guest's; gives its id. */
static inline char *world_push(void **state, const char *branch)
{
    autofree char *line = xasprintf("cd work; git push -qf ../quarantine.git 'HEAD:refs/guest/heads/%s';"
                                    "git rev-parse HEAD",
                                    branch);
    return world_sh(state, line);
}

static inline char *world_path(void **state, const char *name)
{
    return file_join(*state, name);
}

#endif
