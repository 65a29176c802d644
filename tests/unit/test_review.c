/* What a person reads of a quarantine, and the commit of picked files and hunks, over real repositories. */
#include "review_world.h"

#include "review/review.h"

#include <time.h>

static json_t *member(json_t *object, const char *key)
{
    return json_object_get(object, key);
}

static const char *word(json_t *object, const char *key)
{
    const char *text = json_string_value(member(object, key));
    return text ? text : "(none)";
}

static json_t *diff(void **state, const char *tip, const char *path, bool lines)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    struct review_ask ask = {.tip = tip, .path = path, .lines = lines};
    json_t *all = NULL;
    assert_ok(review_diff(quarantine, &ask, &all, &err));
    return all;
}

/* The row of a file. */
static json_t *row(json_t *all, const char *path)
{
    size_t i;
    json_t *one;
    json_array_foreach(all, i, one) if (member(one, "status") && !strcmp(word(one, "path"), path)) return one;
    fail_msg("'%s' is not in %s", path, json_dumps(all, 0));
    return NULL;
}

/* All lines of a file's hunks, joined by '|'. */
static char *lines_of(json_t *all, const char *path)
{
    json_int_t number = json_integer_value(member(row(all, path), "file"));
    char *joined = xstrdup("");
    size_t i;
    json_t *one;
    json_array_foreach(all, i, one)
    {
        size_t l;
        json_t *line;
        if (json_integer_value(member(one, "file")) != number)
            continue;
        json_array_foreach(member(one, "lines"), l, line)
        {
            char *more = xasprintf("%s%s|", joined, json_string_value(line));
            free(joined);
            joined = more;
        }
    }
    return joined;
}

static void branches_and_names(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    json_t *all = NULL;
    char hex[REVIEW_HEX_SIZE];
    autofree char *name = NULL;
    autofree char *ref = NULL;

    assert_error(review_find(quarantine, NULL, &name, &ref, hex, &err), ERROR_NOT_FOUND, "no branch");
    run("cd work; git checkout -qb fix; echo x >x; git add .; git commit -qm $'title \\e[31mred'");
    autofree char *tip = world_push(state, "fix");
    run("cd quarantine.git; git update-ref refs/pushes/41 refs/guest/heads/fix;"
        "git update-ref refs/pushes/41-base refs/guest/heads/fix; git update-ref refs/work/heads/wip HEAD^{} "
        "2>/dev/null || git update-ref refs/work/heads/wip refs/guest/heads/fix;"
        "git update-ref refs/work/uncommitted refs/guest/heads/fix;"
        "git update-ref refs/guest/heads/main $(git -C ../mirror.git rev-parse main)");
    assert_ok(review_branches(quarantine, &all, &err));
    assert_int_equal(json_array_size(all), 5);
    json_t *first = json_array_get(all, 0);
    assert_string_equal(word(first, "name"), "fix");
    assert_string_equal(word(first, "kind"), "branch");
    assert_string_equal(word(first, "subject"), "title \\e[31mred");
    assert_int_equal(json_integer_value(member(first, "commits")), 1);
    assert_int_equal(json_integer_value(member(json_array_get(all, 1), "commits")), 0);
    assert_string_equal(word(json_array_get(all, 4), "name"), "#41");
    json_decref(all);
    /* main has nothing of its own, so that fix is the only one that can be meant */
    assert_ok(review_find(quarantine, NULL, &name, &ref, hex, &err));
    assert_string_equal(name, "fix");
    assert_string_equal(ref, "refs/guest/heads/fix");
    assert_string_equal(hex, tip);
    free(steal(&name));
    free(steal(&ref));
    assert_ok(review_find(quarantine, "#41", &name, &ref, hex, &err));
    assert_string_equal(ref, "refs/pushes/41");
    free(steal(&name));
    free(steal(&ref));
    run("git -C quarantine.git update-ref refs/guest/heads/other refs/guest/heads/fix");
    assert_error(review_find(quarantine, NULL, &name, &ref, hex, &err), ERROR_USAGE, "fix, main, other");
    assert_error(review_find(quarantine, "nope", &name, &ref, hex, &err), ERROR_NOT_FOUND, "'nope'");
}

static void log_of_hostile_commits(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    json_t *all = NULL;

    run("cd work; git checkout -qb fix; echo x >x; git add .;"
        "GIT_AUTHOR_NAME=$'E\\xe2\\x80\\xaevil' git commit -qm $'one\\n\\nbody \\e]52;c;eA==\\a\\nsecond'; "
        "echo y >y;"
        "git add .; git commit -qm two");
    autofree char *tip = world_push(state, "fix");
    assert_ok(review_log(quarantine, tip, 100, &all, &err));
    json_t *commits = member(all, "commits");
    assert_int_equal(json_array_size(commits), 2);
    assert_string_equal(word(json_array_get(commits, 0), "subject"), "two");
    json_t *one = json_array_get(commits, 1);
    assert_string_equal(word(one, "author"), "E\\u{202E}vil");
    assert_string_equal(word(one, "body"), "body \\e]52;c;eA==\\x07\nsecond");
    json_decref(all);
    assert_ok(review_log(quarantine, tip, 1, &all, &err));
    assert_true(json_is_true(member(all, "more")));
    assert_int_equal(json_array_size(member(all, "commits")), 1);
    json_decref(all);
}

static void files_and_lines(void **state)
{
    run("cd work; git checkout -qb fix; printf 'one\\n2\\nthree\\nend' >a.txt; git mv src/x.c src/y.c;"
        "printf 'a\\0b' >bin; ln -s ../outside out; ln -s a.txt in; echo 'layout x' >.envrc; chmod +x "
        "package.json;"
        "printf 'x\\n' >$'esc\\e[2J'; git add .; git update-index --add --cacheinfo 160000,$(git rev-parse "
        "HEAD),lib;"
        "git commit -qm x");
    autofree char *tip = world_push(state, "fix");
    json_t *all = diff(state, tip, NULL, true);
    /* what tools obey and what leads elsewhere comes first */
    assert_string_equal(word(json_array_get(all, 1), "path"), ".envrc");
    json_t *text = row(all, "a.txt");
    assert_string_equal(word(text, "status"), "M");
    assert_int_equal(json_integer_value(member(text, "insertions")), 2);
    assert_int_equal(json_integer_value(member(text, "old_size")), 14);
    autofree char *lines = lines_of(all, "a.txt");
    assert_string_equal(lines, " one|-two|+2| three|+end|\\|");
    assert_string_equal(word(row(all, "src/y.c"), "status"), "R");
    assert_string_equal(word(row(all, "src/y.c"), "old_path"), "src/x.c");
    assert_true(json_is_true(member(row(all, "bin"), "binary")));
    assert_string_equal(word(row(all, "out"), "kind"), "symlink");
    assert_string_equal(word(row(all, "out"), "target"), "../outside");
    assert_true(json_is_true(member(row(all, "out"), "outside")));
    assert_true(json_is_false(member(row(all, "in"), "outside")));
    assert_string_equal(word(row(all, "lib"), "kind"), "submodule");
    assert_string_equal(word(row(all, "package.json"), "status"), "C");
    assert_string_equal(word(row(all, "package.json"), "new_mode"), "100755");
    row(all, "esc\\e[2J");
    json_decref(all);
    all = diff(state, tip, "esc\\e[2J", true);
    autofree char *escaped = lines_of(all, "esc\\e[2J");
    assert_string_equal(escaped, "+x|");
    json_decref(all);

    autofree char *quarantine = world_path(state, "quarantine.git");
    struct review_ask ask = {.tip = tip, .path = "none"};
    assert_error(review_diff(quarantine, &ask, &all, &err), ERROR_NOT_FOUND, "'none'");
}

static void links_out_of_the_tree(void **state)
{
    static const struct {
        const char *path, *target;
        bool out;
    } cases[] = {
        {"l", "a", false},          {"l", "./a/b", false}, {"l", "/etc/passwd", true},
        {"l", "..", true},          {"d/l", "..", false},  {"d/l", "../a", false},
        {"d/l", "../../a", true},   {"l", "a/../b", true}, {"l", ".git/config", true},
        {"d/l", "../.GIT/x", true}, {"l", "a/.git", true}, {"l", "", true},
        {"l", "git~1/x", true},     {"l", "a\\b", true},   {"d/l", ".././a", false},
        {"l", ".gitx", false},
    };
    for (size_t i = 0; i < countof(cases); i++)
        if (review_link_leads_out(cases[i].path, cases[i].target, strlen(cases[i].target)) != cases[i].out)
            fail_msg("%s -> %s", cases[i].path, cases[i].target);

    autofree char *quarantine = world_path(state, "quarantine.git");
    const char *allowed[] = {"out", NULL};
    run("cd work; git checkout -qb fix; ln -s /etc out; ln -s ../../x src/up; ln -s a.txt in; git add .;"
        "git commit -qm x");
    autofree char *tip = world_push(state, "fix");
    assert_error(review_check_links(quarantine, tip, NULL, &err), ERROR_DENIED, "'out', 'src/up'");
    assert_error(review_check_links(quarantine, tip, allowed, &err), ERROR_DENIED, "1 symbolic link leads");
    run("cd work; git rm -q --cached src/up; git commit -qm y");
    autofree char *better = world_push(state, "fix");
    assert_ok(review_check_links(quarantine, better, allowed, &err));
}

static const struct review_identity user = {"The User", "user@localhost"};

static void picked_files_and_hunks(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    char hex[REVIEW_HEX_SIZE];

    run("cd work; seq 40 >n; git add n; git commit -qm n; git push -q ../mirror.git main; git checkout -qb "
        "fix;"
        "sed -i -e 's/^3$/three/' -e '20d' -e '39a new' n; echo x >>a.txt; git mv src/x.c src/y.c; git "
        "commit -qam all;"
        "echo b >b; git add b; GIT_AUTHOR_NAME='Other <Agent>' GIT_AUTHOR_EMAIL=other@localhost git commit "
        "-qm 'last one'");
    autofree char *tip = world_push(state, "fix");
    const unsigned hunks[] = {0, 2};
    const struct review_pick picks[] = {
        {.path = "n", .hunks = hunks, .hunk_count = 2},
        {.path = "src/y.c"},
    };
    assert_ok(review_commit_picks(quarantine, tip, picks, 2, &user, NULL, hex, &err));
    autofree char *show =
        xasprintf("git -C quarantine.git show -s --format='%%an|%%cn|%%ce|%%s|%%b' %s | tr '\\n' '~'", hex);
    autofree char *said = world_sh(state, show);
    assert_string_equal(
        said, "Other Agent|The User|user@localhost|last one|Co-authored-by: Agent <agent@localhost>~~");
    autofree char *files =
        xasprintf("git -C quarantine.git diff --name-status -M main-base %s | tr '\\n\\t' '~ '", hex);
    run("git -C quarantine.git update-ref refs/heads/main-base $(git -C mirror.git rev-parse main)");
    autofree char *changed = world_sh(state, files);
    assert_string_equal(changed, "M n~R100 src/x.c src/y.c~");
    autofree char *content = xasprintf(
        "git -C quarantine.git cat-file -p %s:n | diff - <(seq 40 | sed -e 's/^3$/three/' -e '39a new')",
        hex);
    run(content);
    autofree char *parent = xasprintf("git -C quarantine.git rev-parse %s^", hex);
    autofree char *base = world_sh(state, parent);
    autofree char *main = world_sh(state, "git -C mirror.git rev-parse main");
    assert_string_equal(base, main);

    const unsigned far[] = {7};
    const struct review_pick bad[] = {{.path = "n", .hunks = far, .hunk_count = 1}, {.path = "zz"}};
    assert_error(review_commit_picks(quarantine, tip, bad, 1, &user, NULL, hex, &err), ERROR_NOT_FOUND,
                 "no hunk 8");
    assert_error(review_commit_picks(quarantine, tip, bad + 1, 1, &user, NULL, hex, &err), ERROR_NOT_FOUND,
                 "'zz'");
    const struct review_pick new_file[] = {{.path = "b", .hunks = hunks, .hunk_count = 1}};
    assert_error(review_commit_picks(quarantine, tip, new_file, 1, &user, NULL, hex, &err), ERROR_INVALID,
                 "whole");
}

/* Insertions at the start and the end, and files without an end of line: all hunks make the new file, none
 * the old one. */
static void hunks_at_the_ends(void **state)
{
    static const char *const edits[] = {
        "sed -i '1i zero' n", "sed -i '1d' n",     "echo last >>n", "printf last >>n",
        "printf x >n",        "sed -i '20,25d' n", ": >n",          "truncate -s -1 n",
    };
    autofree char *quarantine = world_path(state, "quarantine.git");

    run("cd work; seq 40 >n; git add n; git commit -qm n; git push -q ../mirror.git main");
    for (size_t i = 0; i < countof(edits); i++) {
        char hex[REVIEW_HEX_SIZE];
        const unsigned all[] = {0};
        const struct review_pick pick = {.path = "n", .hunks = all, .hunk_count = 1};
        const struct review_pick none = {.path = "n", .hunks = all, .hunk_count = 0};
        autofree char *edit =
            xasprintf("cd work; git checkout -qB fix main; %s; git commit -qam edit", edits[i]);
        run(edit);
        autofree char *tip = world_push(state, "fix");
        assert_ok(review_commit_picks(quarantine, tip, &pick, 1, &user, "words", hex, &err));
        autofree char *same = xasprintf("cmp <(git -C quarantine.git cat-file -p %s:n) work/n", hex);
        run(same);
        assert_ok(review_commit_picks(quarantine, tip, &none, 1, &user, "words", hex, &err));
        autofree char *old = xasprintf("cmp <(git -C quarantine.git cat-file -p %s:n) <(seq 40)", hex);
        run(old);
    }
}

/* Names, subjects and links of any length fit on a line of the API. */
static void endless_words(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    json_t *all = NULL;
    size_t i;
    json_t *line;

    run("cd quarantine.git; b=$(head -c 4000 /dev/zero | tr '\\0' '\\1' | git hash-object -w --stdin);"
        "n=$(head -c 60000 /dev/zero | tr '\\0' '\\2'); m=$(head -c 200000 /dev/zero | tr '\\0' '\\3');"
        "t=$(printf '120000 blob %s\\t%s\\0' $b \"$n\" | git mktree -z);"
        "export GIT_AUTHOR_NAME=$(head -c 50000 /dev/zero | tr '\\0' A);"
        "git update-ref refs/guest/heads/long $(git commit-tree $t <<<\"$m\")");
    autofree char *tip = world_sh(state, "git -C quarantine.git rev-parse refs/guest/heads/long");
    assert_ok(review_log(quarantine, tip, 10, &all, &err));
    json_t *lines = diff(state, tip, NULL, true);
    json_array_extend(lines, member(all, "commits"));
    json_decref(all);
    assert_ok(review_branches(quarantine, &all, &err));
    json_array_extend(lines, all);
    json_array_foreach(lines, i, line)
    {
        char *text = json_dumps(line, JSON_COMPACT);
        assert_true(strlen(text) < 65000);
        free(text);
    }
    json_decref(lines);
    json_decref(all);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Ten thousand files, and a comparison of 5 MB, are there soon: the limits are wide, for loaded machines. */
static void large_pushes(void **state)
{
    run("cd work; git checkout -qb many; b=$(git hash-object -w a.txt);"
        "seq -f \"100644 $b\t\"many/f%.0f 10000 | git update-index --add --index-info; git commit -qm many");
    autofree char *tip = world_push(state, "many");
    double from = seconds();
    json_t *all = diff(state, tip, NULL, false);
    double many = seconds() - from;
    assert_int_equal(json_array_size(all), 10001);
    json_decref(all);
    run("cd work; git checkout -qb big main; seq -f 'line number %.0f of a large file, said twice' 120000 "
        ">big;"
        "git add .; git commit -qm big");
    autofree char *big = world_push(state, "big");
    from = seconds();
    all = diff(state, big, NULL, true);
    double large = seconds() - from;
    assert_int_equal(json_integer_value(member(row(all, "big"), "insertions")), 120000);
    json_decref(all);
    print_message("10 000 files in %.2f s, 5 MB of lines in %.2f s\n", many, large);
    assert_true(many < 20 && large < 20);
}

/* The files of some pages, one after the other, with the number of pages. */
static size_t read_pages(void **state, const char *tip, struct review_ask ask, char **ret_paths)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    char *paths = xstrdup("");
    size_t pages = 0;

    ask.tip = tip;
    for (size_t next = 1; next; pages++) {
        json_t *all = NULL;
        json_t *one;
        size_t i;
        next = 0;
        assert_ok(review_diff(quarantine, &ask, &all, &err));
        json_array_foreach(all, i, one)
        {
            if (member(one, "next"))
                ask.from = next = (size_t)json_integer_value(member(one, "next"));
            if (!member(one, "status"))
                continue;
            char *more =
                xasprintf("%s%lld %s|", paths, json_integer_value(member(one, "file")), word(one, "path"));
            free(paths);
            paths = more;
        }
        json_decref(all);
    }
    *ret_paths = paths;
    return pages;
}

static void pages_of_files(void **state)
{
    run("cd work; git checkout -qb fix; for i in 1 2 3 4 5; do seq 100 >f$i; done; echo x >.envrc; git add .;"
        "git commit -qm x");
    autofree char *tip = world_push(state, "fix");
    static const char all[] = "0 .envrc|1 f1|2 f2|3 f3|4 f4|5 f5|";
    autofree char *whole = NULL;
    autofree char *pairs = NULL;
    autofree char *bytes = NULL;
    assert_int_equal(read_pages(state, tip, (struct review_ask){.lines = true}, &whole), 1);
    assert_string_equal(whole, all);
    assert_int_equal(read_pages(state, tip, (struct review_ask){.max = 2}, &pairs), 3);
    assert_string_equal(pairs, all);
    /* a page ends behind the file that filled it */
    assert_int_equal(read_pages(state, tip, (struct review_ask){.lines = true, .bytes = 300}, &bytes), 3);
    assert_string_equal(bytes, all);
}

static void one_commit_alone(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    run("cd work; git checkout -qb fix; echo x >x; git add .; git commit -qm x; echo y >y; git add .; git "
        "commit -qm y");
    autofree char *tip = world_push(state, "fix");
    struct review_ask ask = {.tip = tip, .alone = true};
    json_t *all = NULL;
    assert_ok(review_diff(quarantine, &ask, &all, &err));
    assert_int_equal(json_integer_value(member(json_array_get(all, 0), "files")), 1);
    assert_string_equal(word(row(all, "y"), "status"), "A");
    json_decref(all);
    autofree char *root = world_sh(state, "git -C work rev-list --max-parents=0 HEAD");
    ask.tip = root;
    assert_ok(review_diff(quarantine, &ask, &all, &err));
    assert_true(json_is_null(member(json_array_get(all, 0), "base")));
    assert_string_equal(word(row(all, "a.txt"), "status"), "A");
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(branches_and_names),    world_test(log_of_hostile_commits), world_test(files_and_lines),
        world_test(links_out_of_the_tree), world_test(picked_files_and_hunks), world_test(hunks_at_the_ends),
        world_test(endless_words),         world_test(large_pushes),           world_test(pages_of_files),
        world_test(one_commit_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
