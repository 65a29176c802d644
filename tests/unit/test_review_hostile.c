/* A machine that wants another thing looked at than is landed: names, kinds and objects that mislead. */
#include "review_world.h"

#include "review/review.h"

static const struct review_identity user = {"The User", "user@localhost"};

static void find_is(void **state, const char *name, const char *want_ref)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    autofree char *shown = NULL;
    autofree char *ref = NULL;
    char hex[REVIEW_HEX_SIZE];

    assert_ok(review_find(quarantine, name, &shown, &ref, hex, &err));
    assert_string_equal(ref, want_ref);
}

/* A branch that is called like the ref of a request, or of another branch, is not taken for it. */
static void branches_called_like_refs(void **state)
{
    run("cd work; git checkout -qb evil; git commit -q --allow-empty -m evil; git push -q ../quarantine.git "
        "HEAD:refs/guest/heads/zz HEAD:refs/pushes/1; git commit -q --allow-empty -m harmless;"
        "git push -q ../quarantine.git HEAD:refs/guest/heads/refs/pushes/1 "
        "HEAD:refs/guest/heads/refs/guest/heads/zz");
    find_is(state, "refs/pushes/1", "refs/pushes/1");
    find_is(state, "#1", "refs/pushes/1");
    find_is(state, "refs/guest/heads/zz", "refs/guest/heads/zz");
    find_is(state, "zz", "refs/guest/heads/zz");
    find_is(state, "refs/guest/heads/refs/pushes/1", "refs/guest/heads/refs/pushes/1");
}

/* Thousands of branches do not hide what waits for review. */
static void a_flood_of_branches(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    json_t *all = NULL;

    run("cd work; git commit -q --allow-empty -m x; git push -q ../quarantine.git HEAD:refs/pushes/9;"
        "cd ../quarantine.git; h=$(git rev-parse refs/pushes/9);"
        "seq -f \"create refs/guest/heads/b%.0f $h\" 2100 | git update-ref --stdin; git pack-refs --all");
    find_is(state, "#9", "refs/pushes/9");
    find_is(state, "refs/pushes/9", "refs/pushes/9");
    assert_ok(review_branches(quarantine, &all, &err));
    assert_int_equal(json_array_size(all), REVIEW_BRANCHES_MAX);
    json_decref(all);
}

static json_t *row_of(json_t *all, const char *name)
{
    size_t i;
    json_t *row;
    json_array_foreach(all, i,
                       row) if (!strcmp(json_string_value(json_object_get(row, "name")), name)) return row;
    fail_msg("no '%s'", name);
    return NULL;
}

/* What cannot be read is there, with the reason: a commit of many megabytes, one that is damaged, a tag of a
 * file. */
static void what_cannot_be_read(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    json_t *all = NULL;

    run("cd work; git commit -q --allow-empty -m good; git push -q ../quarantine.git "
        "HEAD:refs/guest/heads/good;"
        "git commit -q --allow-empty -m lost; git push -q ../quarantine.git HEAD:refs/guest/heads/lost;"
        "cd ../quarantine.git; git update-ref refs/guest/heads/long $(head -c 2000000 /dev/zero | tr '\\0' x "
        "| "
        "git commit-tree main^{tree} 2>/dev/null || head -c 2000000 /dev/zero | tr '\\0' x | git commit-tree "
        "$(git -C ../mirror.git rev-parse main^{tree}));"
        "git update-ref refs/guest/tags/blob $(echo x | git hash-object -w --stdin);"
        "o=$(git rev-parse refs/guest/heads/lost); rm -f objects/${o:0:2}/${o:2}");
    assert_ok(review_branches(quarantine, &all, &err));
    assert_int_equal(json_array_size(all), 4);
    assert_null(json_object_get(row_of(all, "good"), "unread"));
    assert_non_null(
        strstr(json_string_value(json_object_get(row_of(all, "lost"), "unread")), "cannot read commit"));
    assert_non_null(strstr(json_string_value(json_object_get(row_of(all, "long"), "unread")), "bytes"));
    assert_non_null(
        strstr(json_string_value(json_object_get(row_of(all, "blob"), "unread")), "not a commit"));
    json_decref(all);
}

/* Two files that look the same: neither is landed for the other, nor its link allowed. */
static void files_that_look_the_same(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    struct review_pick pick = {.path = "a\\e[m"};
    const char *links[] = {"l\\e[m", NULL};
    char hex[REVIEW_HEX_SIZE];
    json_t *all = NULL;

    run("cd work; git checkout -qb fix; echo evil >$'a\\e[m'; echo good >'a\\e[m'; ln -s /etc/passwd "
        "$'l\\e[m';"
        "ln -s /etc/hosts 'l\\e[m'; echo x >$'only\\e[m'; git add .; git commit -qm x");
    autofree char *tip = world_push(state, "fix");
    assert_error(review_commit_picks(quarantine, tip, &pick, 1, &user, NULL, hex, &err), ERROR_INVALID,
                 "more than one file is shown as");
    struct review_ask ask = {.tip = tip, .path = pick.path, .lines = true};
    assert_error(review_diff(quarantine, &ask, &all, &err), ERROR_INVALID, "more than one file");
    assert_error(review_check_links(quarantine, tip, links, &err), ERROR_DENIED, "2 symbolic links");
    pick.path = "only\\e[m"; /* shown in its own way, though not as it is */
    assert_ok(review_commit_picks(quarantine, tip, &pick, 1, &user, NULL, hex, &err));
}

/* Names of the tree of a commit, as "mode path …". */
static char *tree_of(void **state, const char *hex)
{
    autofree char *line =
        xasprintf("git -C quarantine.git ls-tree -r %s | sed 's/ .*\\t/ /' | tr '\\n' ' '", hex);
    return world_sh(state, line);
}

static char *picked(void **state, const char *tip, const char *path)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    struct review_pick pick = {.path = path};
    struct error *err = NULL;
    char hex[REVIEW_HEX_SIZE];

    if (review_commit_picks(quarantine, tip, &pick, 1, &user, NULL, hex, &err) == 0)
        return tree_of(state, hex);
    char *said = xasprintf("! %s", err->message);
    error_free(err);
    return said;
}

/* A pick changes what was picked, or is refused: nothing else goes with it. */
static void picks_that_reach_further(void **state)
{
    run("cd work; mkdir d; echo 1 >d/one; echo 2 >d/two; ln -s src s; git add .; git commit -qm d;"
        "git push -q ../mirror.git main; git checkout -qb fix; git rm -qr d s; ln -s src d; mkdir s; echo 3 "
        ">s/x;"
        "git mv a.txt b; mkdir a.txt; git mv b a.txt/b;"
        "git update-index --add --cacheinfo 160000,$(git rev-parse main),sub; git add d s; git commit -qm x");
    autofree char *tip = world_push(state, "fix");
    autofree char *link = picked(state, tip, "d");      /* a link where a folder was */
    autofree char *through = picked(state, tip, "s/x"); /* a file below what is a link before */
    autofree char *moved = picked(state, tip, "a.txt/b");
    autofree char *module = picked(state, tip, "sub");
    const char *const refused[] = {link, through, moved};
    for (size_t i = 0; i < countof(refused); i++)
        if (strncmp(refused[i], "! these files cannot be put together without others", 51) != 0)
            fail_msg("%zu: %s", i, refused[i]);
    assert_string_equal(module, "100644 a.txt 100644 d/one 100644 d/two 100644 package.json 120000 s 100644 "
                                "src/x.c 160000 sub ");
}

/* A file that is named twice: neither time alone is what was meant. */
static void picked_twice(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    const unsigned first[] = {0}, second[] = {1};
    const struct review_pick picks[] = {{"n", first, 1}, {"n", second, 1}};
    char hex[REVIEW_HEX_SIZE];

    run("cd work; seq 40 >n; git add n; git commit -qm n; git push -q ../mirror.git main; git checkout -qb "
        "fix;"
        "sed -i -e 's/^3$/three/' -e 's/^30$/thirty/' n; git commit -qam x");
    autofree char *tip = world_push(state, "fix");
    assert_error(review_commit_picks(quarantine, tip, picks, 2, &user, NULL, hex, &err), ERROR_INVALID,
                 "'n' is named twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(branches_called_like_refs), world_test(a_flood_of_branches),
        world_test(what_cannot_be_read),       world_test(files_that_look_the_same),
        world_test(picks_that_reach_further),  world_test(picked_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
