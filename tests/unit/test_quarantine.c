/* What comes out of a machine, with real git as its end and hutch-git confined as ever. */
#include "quarantine_rig.h"

static void pushes_come_out(void **state)
{
    struct quarantine_news news;

    rig_fetch(&news);
    assert_int_equal(news.change_count, 1);
    assert_string_equal(news.changes[0].name, "refs/guest/heads/main");
    assert_null(news.changes[0].old);
    quarantine_news_finish(&news);

    rig_run("cd work; echo 2 >>a; git commit -qam two; git push -q origin HEAD:fix; git tag v1; git push -q "
            "origin v1");
    rig_fetch(&news);
    assert_int_equal(news.change_count, 2);
    autofree char *tip = rig_sh("git -C work rev-parse HEAD");
    assert_string_equal(rig_find(&news, "refs/guest/heads/fix")->commit, tip);
    assert_non_null(rig_find(&news, "refs/guest/tags/v1"));
    quarantine_news_finish(&news);

    /* nothing new: one look, no transfer */
    struct end end = {.bare = "bare.git"};
    assert_int_equal(rig_fetch_from(&end, NULL, &news, NULL), 0);
    assert_int_equal(news.change_count, 0);
    assert_int_equal(end.opened, 1);
    quarantine_news_finish(&news);

    rig_run("cd work; git commit -q --amend -m 'two again'; git push -qf origin HEAD:fix");
    rig_fetch(&news);
    assert_int_equal(news.change_count, 1);
    assert_true(news.changes[0].forced);
    assert_string_equal(news.changes[0].old, tip);
    quarantine_news_finish(&news);

    rig_run("cd work; echo 3 >>a; git commit -qam three; git push -q origin HEAD:fix");
    rig_fetch(&news);
    assert_false(news.changes[0].forced);
    quarantine_news_finish(&news);

    /* the rig_mirror's objects are not brought again, and nobody else reads them */
    autofree char *count = rig_sh("git --git-dir q/app.git count-objects -v | sed -n 's/^in-pack: //p'");
    assert_true(atol(count) < 20);
    autofree char *mode = rig_sh("stat -c %a q");
    assert_string_equal(mode, "700");
}

static void work_of_the_tree_comes_and_goes(void **state)
{
    struct quarantine_news news;

    rig_run("cd work; echo w >>a; git commit -qam work; git push -q origin HEAD:refs/hutch/work/heads/wip "
            "HEAD:refs/hutch/work/stash/0; git push -q origin HEAD:refs/heads/top");
    rig_fetch(&news);
    assert_non_null(rig_find(&news, "refs/work/heads/wip"));
    assert_non_null(rig_find(&news, "refs/work/stash/0"));
    quarantine_news_finish(&news);

    /* what was pushed stays here when the machine drops it, what was not goes; a/b takes the place of a */
    rig_run("git -C bare.git update-ref -d refs/hutch/work/stash/0; git -C bare.git update-ref -d "
            "refs/heads/top");
    rig_fetch(&news);
    assert_int_equal(news.change_count, 1);
    assert_null(rig_find(&news, "refs/work/stash/0")->commit);
    quarantine_news_finish(&news);
    rig_run("git -C bare.git update-ref refs/heads/top/most main");
    rig_fetch(&news);
    assert_non_null(rig_find(&news, "refs/guest/heads/top/most")->commit);
    assert_null(rig_find(&news, "refs/guest/heads/top")->commit);
    quarantine_news_finish(&news);
}

static void names_that_cannot_be_named_cost_themselves(void **state)
{
    struct quarantine_news news;

    rig_run(
        "cd bare.git; git update-ref 'refs/heads/\xff\xfe' main; git update-ref 'refs/heads/a&b' main;"
        "git update-ref refs/heads/fine main; git update-ref refs/heads/$(printf 'n%.0s' $(seq 210)) main");
    rig_fetch(&news);
    assert_int_equal(news.skip_count, 3);
    assert_non_null(rig_find(&news, "refs/guest/heads/fine"));
    for (size_t i = 0; i < news.skip_count; i++)
        for (const char *p = news.skips[i].name; *p; p++)
            assert_true((unsigned char)*p >= ' ' && (unsigned char)*p < 0xf0);
    quarantine_news_finish(&news);
}

static void sha256_is_its_own_format(void **state)
{
    struct quarantine_news news;
    struct end end = {.bare = "bare256.git"};
    auto(error) struct error *err = NULL;

    rig_run("rm -rf w256 bare256.git; git init -q --object-format=sha256 w256; cd w256; echo 1 >a; git add a;"
            "git commit -qm one; cd ..; git clone -q --bare w256 bare256.git");
    autofree char *before = rig_refs();
    int rc = rig_fetch_from(&end, NULL, &news, &err);
    rig_refused(rc, ERROR_STATE, err, before);

    rig_run("rm -rf q");
    assert_int_equal(quarantine_prepare(rig_quarantine, NULL, "sha256", NULL), 0);
    char *mine = steal(&rig_mirror);
    assert_int_equal(rig_fetch_from(&end, NULL, &news, NULL), 0);
    rig_mirror = mine;
    assert_int_equal(strlen(news.changes[0].commit), 64);
    quarantine_news_finish(&news);
    error_free(steal(&err));
    assert_int_equal(quarantine_prepare(rig_quarantine, NULL, "sha1", &err), -(int)ERROR_STATE);
}

static void a_full_one_takes_no_more(void **state)
{
    auto(error) struct error *err = NULL;

    assert_int_equal(quarantine_check_room(rig_quarantine, 1 << 20, 1, NULL), 0);
    rig_run("head -c 2000000 /dev/urandom >q/app.git/objects/pack/tmp_pack_x");
    assert_int_equal(quarantine_check_room(rig_quarantine, 1 << 20, 1, &err), -(int)ERROR_LIMIT);
    error_free(steal(&err));
    assert_int_equal(quarantine_check_room(rig_quarantine, UINT64_MAX, UINT64_MAX, &err),
                     -(int)ERROR_NO_SPACE);
}

/* A repository that claims the objects of another one: hutch-git opens its own folders and no other. */
/* A transfer ends while there is still room for all else, and half an answer of git is none. */
static void a_command_has_its_limits(void **state)
{
    const char *const waits[] = {"sleep", "60", NULL}, *const says[] = {"seq", "100000", NULL};
    struct git_run run = {.argv = waits, .keep = -1, .what = "it", .room_of = "/tmp", .room_min = UINT64_MAX};
    auto(error) struct error *err = NULL;
    autofree char *out = NULL;

    assert_int_equal(git_run(&run, NULL, &err), -ERROR_NO_SPACE);
    assert_non_null(strstr(err->message, "it was ended: only "));
    error_free(steal(&err));
    run = (struct git_run){.argv = says, .keep = -1, .what = "it", .out_limit = 1000, .whole = true};
    assert_int_equal(git_run(&run, &out, &err), -ERROR_LIMIT);
    run.whole = false;
    assert_int_equal(git_run(&run, &out, NULL), 0);
    assert_int_equal(strlen(out), 1000);
}

static void confined_to_its_folders(void **state)
{
    struct paths *paths = NULL;
    autofree char *program = NULL, *line = NULL;

    paths = rig_paths();
    assert_int_equal(paths_program(paths, "hutch-git", &program, NULL), 0);
    paths_free(paths);
    rig_run(
        "rm -rf secret jail.git; git init -q secret; cd secret; echo secret >s; git add s; git commit -qm s; "
        "cd ..;"
        "git init -q --bare jail.git; echo \"$PWD/secret/.git/objects\" >jail.git/objects/info/alternates;"
        "test $(git --git-dir jail.git cat-file --batch-all-objects --batch-check | wc -l) = 3");
    line = xasprintf("%s measure $PWD/jail.git 2>/dev/null | wc -l", program);
    autofree char *seen = rig_sh(line);
    assert_string_equal(seen, "0");
    /* nor does it write where its command only reads */
    autofree char *write =
        xasprintf("ln -s $PWD/secret/.git jail.git/refs/in; ! %s fetch $PWD/jail.git "
                  "$PWD/mirror.git $PWD/mirror.git +main:refs/in/0 3<>/dev/null 2>/dev/null; "
                  "test ! -e secret/.git/0",
                  program);
    rig_run(write);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, rig_fresh)
    const struct CMUnitTest tests[] = {
        TEST(pushes_come_out),
        TEST(work_of_the_tree_comes_and_goes),
        TEST(names_that_cannot_be_named_cost_themselves),
        TEST(sha256_is_its_own_format),
        TEST(a_full_one_takes_no_more),
        TEST(a_command_has_its_limits),
        TEST(confined_to_its_folders),
    };
    return cmocka_run_group_tests(tests, rig_make, rig_remove);
}
