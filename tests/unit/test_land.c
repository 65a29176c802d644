/* Landing: a branch in the user's repository, and nothing else of it; real repositories, hostile ones written
 * as raw objects. */
#include "review_world.h"

#include "repo/land.h"

/* "user" is a clone of the mirror with a dirty work tree, hooks that leave a trace, and "origin". */
static int land_setup(void **state)
{
    world_setup(state);
    run("git clone -q mirror.git user; cd user; echo dirty >>a.txt; echo staged >staged; git add staged;"
        "for h in reference-transaction post-checkout post-merge post-update fsmonitor; do "
        "printf '#!/bin/sh\\ntouch %s/../ran-%s\\n' \"$PWD\" $h >.git/hooks/$h; chmod +x .git/hooks/$h; done;"
        "git config core.fsmonitor \"$PWD/.git/hooks/fsmonitor\"; rm -f ../ran-*;"
        "cd ../work; git checkout -qb fix; echo fix >fix; git add .; git commit -qm fix");
    return 0;
}
#define land_test(fn) cmocka_unit_test_setup_teardown(fn, land_setup, scratch_teardown)

/* All that landing must leave as it is. */
static char *fingerprint(void **state)
{
    return world_sh(
        state, "cd user; (git symbolic-ref HEAD; git rev-parse HEAD main; cat .git/index a.txt staged; ls -A;"
               "git -c core.fsmonitor=false -c core.hooksPath=/dev/null status --porcelain) | sha256sum");
}

static struct land land_of(const char *repository, const char *quarantine, const char *commit,
                           const char *branch)
{
    return (struct land){
        .repository = repository, .quarantine = quarantine, .commit = commit, .branch = branch};
}

static void a_new_branch(void **state)
{
    autofree char *tip = world_push(state, "fix");
    autofree char *user = world_path(state, "user");
    autofree char *quarantine = world_path(state, "quarantine.git");
    autofree char *before = fingerprint(state);
    struct land land = land_of(user, quarantine, tip, "hutch/shop/fix");

    assert_ok(land_branch(&land, NULL, NULL, &err));
    autofree char *there = world_sh(state, "git -C user -c core.fsmonitor= rev-parse hutch/shop/fix");
    assert_string_equal(there, tip);
    run("git -C user -c core.fsmonitor= cat-file -e hutch/shop/fix:fix; test ! -e user/.git/FETCH_HEAD");
    autofree char *after = fingerprint(state);
    assert_string_equal(before, after);
    autofree char *ran = world_sh(state, "ls | grep ran- | tr '\\n' ' ' || true");
    assert_string_equal(ran, "");
    /* a second time it is there already, also with the same commit */
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_EXISTS, "hutch/shop/fix");
}

static void a_branch_moves_only_forward(void **state)
{
    autofree char *first = world_push(state, "fix");
    autofree char *user = world_path(state, "user");
    autofree char *quarantine = world_path(state, "quarantine.git");
    struct land land = land_of(user, quarantine, first, "mine");

    assert_ok(land_branch(&land, NULL, NULL, &err));
    run("cd work; echo more >>fix; git commit -qam more");
    autofree char *second = world_push(state, "fix");
    land.commit = second;
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_EXISTS, "already there");
    land.fast_forward = true;
    assert_ok(land_branch(&land, NULL, NULL, &err));
    run("cd work; git reset -q --hard HEAD~1; echo other >>fix; git commit -qam other");
    autofree char *third = world_push(state, "fix");
    land.commit = third;
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "no fast-forward");
    autofree char *there = world_sh(state, "git -C user -c core.fsmonitor= rev-parse mine");
    assert_string_equal(there, second);
}

static void never_what_is_checked_out(void **state)
{
    autofree char *tip = world_push(state, "fix");
    autofree char *user = world_path(state, "user");
    autofree char *bare = world_path(state, "bare.git");
    autofree char *linked = world_path(state, "linked");
    autofree char *empty = world_path(state, "empty");
    autofree char *quarantine = world_path(state, "quarantine.git");
    struct land land = land_of(user, quarantine, tip, "main");

    land.fast_forward = true;
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "checked out");
    run("cd user; git -c core.fsmonitor= worktree add -q ../linked -b side; cd ..; git clone -q --bare "
        "mirror.git "
        "bare.git; git init -q empty");
    land.branch = "side";
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "checked out");
    land.repository = linked; /* seen from the linked work tree, main is the other's */
    land.branch = "main";
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "checked out");
    land.branch = "hutch/x";
    assert_ok(land_branch(&land, NULL, NULL, &err));
    run("git -C user -c core.fsmonitor= rev-parse hutch/x");
    land.repository = bare;
    assert_ok(land_branch(&land, NULL, NULL, &err));
    land.branch = "main";
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "checked out");
    /* a branch that HEAD names before it has a commit is HEAD's too */
    land.repository = empty;
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "checked out");
}

/* A branch that is another name of the one that is checked out would move that, under the work tree. */
static void never_through_another_name(void **state)
{
    autofree char *tip = world_push(state, "fix");
    autofree char *user = world_path(state, "user");
    autofree char *quarantine = world_path(state, "quarantine.git");
    autofree char *before = fingerprint(state);
    struct land land = land_of(user, quarantine, tip, "alias");

    run("git -C user -c core.hooksPath= symbolic-ref refs/heads/alias refs/heads/main");
    land.fast_forward = true;
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "another name of 'refs/heads/main'");
    autofree char *after = fingerprint(state);
    assert_string_equal(before, after);
}

static void names_and_places(void **state)
{
    static const char *const bad[] = {"",   "-x", "a..b", "a b",   "a.lock", "HEAD",
                                      "a/", "/a", "a\nb", "@{-1}", "a~1"};
    autofree char *tip = world_push(state, "fix");
    autofree char *user = world_path(state, "user");
    autofree char *nowhere = world_path(state, "src");
    autofree char *sha256 = world_path(state, "sha256");
    autofree char *quarantine = world_path(state, "quarantine.git");
    struct land land = land_of(user, quarantine, tip, "x");

    for (size_t i = 0; i < countof(bad); i++) {
        land.branch = bad[i];
        assert_error(land_branch(&land, NULL, NULL, &err), ERROR_INVALID, "name of a branch");
    }
    land.branch = "hutch";
    assert_ok(land_branch(&land, NULL, NULL, &err));
    land.branch = "hutch/below"; /* a file cannot be a folder */
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_FAILED, "hutch");
    land.repository = nowhere;
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_NOT_FOUND, "no git repository");
    run("git init -q --object-format=sha256 sha256");
    land.repository = sha256;
    assert_error(land_branch(&land, NULL, NULL, &err), ERROR_STATE, "sha256");
}

/* Objects that git's fsck refuses: none of them gets a branch. */
static void hostile_objects(void **state)
{
    static const char *const evil[] = {
        "t=$(printf '40000 .git\\0%b' \"$(git rev-parse main^{tree} | sed 's/../\\\\x&/g')\" | "
        "git hash-object -t tree -w --stdin --literally)",
        "t=$(printf '100644 ..\\0%b' \"$(git rev-parse main:a.txt | sed 's/../\\\\x&/g')\" | "
        "git hash-object -t tree -w --stdin --literally)",
        "t=$(printf '120000 .gitmodules\\0%b' \"$(git rev-parse main:a.txt | sed 's/../\\\\x&/g')\" | "
        "git hash-object -t tree -w --stdin --literally)",
        "t=$(printf '40000 GIT~1\\0%b' \"$(git rev-parse main^{tree} | sed 's/../\\\\x&/g')\" | "
        "git hash-object -t tree -w --stdin --literally)",
        "b=$(printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = -u./payload\\n' | git hash-object -w "
        "--stdin);"
        "t=$(printf '100644 .gitmodules\\0%b' \"$(echo $b | sed 's/../\\\\x&/g')\" | "
        "git hash-object -t tree -w --stdin --literally)",
    };
    autofree char *user = world_path(state, "user");
    autofree char *quarantine = world_path(state, "quarantine.git");

    run("git -C quarantine.git update-ref refs/heads/main $(git -C mirror.git rev-parse main)");
    for (size_t i = 0; i < countof(evil); i++) {
        autofree char *make =
            xasprintf("cd quarantine.git; %s; printf 'tree %%s\\nauthor A <a@x> 1 +0000\\ncommitter A "
                      "<a@x> 1 +0000\\n\\nevil %zu\\n' $t | git hash-object -t commit -w --stdin",
                      evil[i], i);
        autofree char *tip = world_sh(state, make);
        struct land land = land_of(user, quarantine, tip, "hutch/evil");
        assert_error(land_branch(&land, NULL, NULL, &err), ERROR_DENIED, "git refuses objects");
        run("! git -C user -c core.fsmonitor= rev-parse -q --verify hutch/evil");
    }
}

static void pushed_on(void **state)
{
    autofree char *tip = world_push(state, "fix");
    autofree char *user = world_path(state, "user");
    autofree char *quarantine = world_path(state, "quarantine.git");
    autofree char *url = NULL;
    struct land land = land_of(user, quarantine, tip, "fix");

    assert_ok(land_branch(&land, NULL, NULL, &err));
    assert_ok(land_push(&land, NULL, NULL, &url, &err));
    autofree char *there = world_sh(state, "git -C mirror.git rev-parse fix");
    assert_string_equal(there, tip);
    /* what is there and further is not forced away */
    run("cd work; echo x >>fix; git commit -qam x; git push -qf ../mirror.git HEAD:fix; git reset -q --hard "
        "HEAD~1;"
        "echo y >>fix; git commit -qam y");
    autofree char *other = world_push(state, "fix");
    struct land again = land_of(user, quarantine, other, "fix");
    again.fast_forward = true;
    assert_ok(land_branch(&again, NULL, NULL, &err));
    free(steal(&url));
    assert_error(land_push(&again, NULL, NULL, &url, &err), ERROR_FAILED, "push");
    run("git -C user -c core.fsmonitor= remote remove origin");
    assert_error(land_push(&again, NULL, NULL, &url, &err), ERROR_STATE, "origin");
}

static void whose_commit(void **state)
{
    autofree char *user = world_path(state, "user");
    autofree char *name = NULL;
    autofree char *mail = NULL;

    run("git -C user config user.name 'Grace H'; git -C user config user.email g@localhost");
    assert_ok(land_identity(user, &name, &mail, &err));
    assert_string_equal(name, "Grace H");
    assert_string_equal(mail, "g@localhost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        land_test(a_new_branch),
        land_test(a_branch_moves_only_forward),
        land_test(never_what_is_checked_out),
        land_test(never_through_another_name),
        land_test(names_and_places),
        land_test(hostile_objects),
        land_test(pushed_on),
        land_test(whose_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
