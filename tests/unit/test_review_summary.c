/* The persistence list and a push in numbers, over real repositories. */
#include "review_world.h"

#include "review/persistence.h"

static void classes(void **state)
{
    static const struct {
        const char *path, *class;
    } cases[] = {
        {".gitattributes", "git"},
        {"deep/down/.gitattributes", "git"},
        {".GitModules", "git"},
        {".lfsconfig", "git"},
        {".gitsomething", "git"},
        {".github/workflows/ci.yml", "ci"},
        {".github/workflows/deep/ci.yml", "ci"},
        {".github/ISSUE_TEMPLATE.md", NULL},
        {"docs/.github/workflows/ci.yml", NULL},
        {".gitlab-ci.yml", "ci"},
        {".vscode/tasks.json", "editor"},
        {"sub/.vscode/tasks.json", "editor"},
        {".vscode", "editor"},
        {"x.vscode/tasks.json", NULL},
        {".idea/workspace.xml", "editor"},
        {".devcontainer/devcontainer.json", "editor"},
        {".envrc", "shell"},
        {"a/.ENVRC", "shell"},
        {".envrc.md", NULL},
        {".husky/pre-commit", "hooks"},
        {".pre-commit-config.yaml", "hooks"},
        {".npmrc", "packages"},
        {".yarnrc.yml", "packages"},
        {"web/package.json", "packages"},
        {"package.json5", NULL},
        {"setup.py", "build"},
        {"tests/conftest.py", "build"},
        {"Makefile", "build"},
        {"src/makefile", "build"},
        {"Makefile/readme", NULL},
        {"CMakePresets.json", "build"},
        {"build.rs", "build"},
        {"App/App.csproj", "build"},
        {"App.csproj/x", NULL},
        {".mcp.json", "agent"},
        {".claude/settings.json", "agent"},
        {".codex/config.toml", "agent"},
        {".cursor/rules/x", "agent"},
        {"AGENTS.md", "agent"},
        {"pkg/CLAUDE.md", "agent"},
        {"CLAUDE.local.md", "agent"},
        {"src/main.c", NULL},
        {"README.md", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        const char *class = persistence_class(cases[i].path);
        if (!cases[i].class != !class || (class && strcmp(class, cases[i].class) != 0))
            fail_msg("'%s' is %s, not %s", cases[i].path, class ? class : "nothing",
                     cases[i].class ? cases[i].class : "nothing");
    }
}

static json_t *summary(void **state, const char *old, const char *new)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    json_t *all = NULL;
    assert_ok(review_summary(quarantine, old, new, &all, &err));
    return all;
}

/* The entry of a path and class, or NULL. */
static json_t *entry(json_t *all, const char *path, const char *class)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(all, "persistence"), i,
                       one) if (!strcmp(json_string_value(json_object_get(one, "path")), path) &&
                                !strcmp(json_string_value(json_object_get(one, "class")), class)) return one;
    return NULL;
}

static void has(json_t *all, const char *path, const char *class, const char *change)
{
    json_t *one = entry(all, path, class);
    if (!one)
        fail_msg("'%s' is not listed as %s: %s", path, class,
                 json_dumps(json_object_get(all, "persistence"), 0));
    assert_string_equal(json_string_value(json_object_get(one, "change")), change);
}

static int number(json_t *all, const char *key)
{
    return (int)json_integer_value(json_object_get(all, key));
}

static void an_ordinary_push(void **state)
{
    run("cd work; git checkout -qb fix; printf 'one\\n2\\nthree\\nfour\\n' >a.txt; git commit -qam two;"
        "git mv src/x.c src/y.c; sed -i 's/\"1\"/\"2\"/' package.json; git commit -qam three");
    autofree char *tip = world_push(state, "fix");
    autofree char *base = world_sh(state, "git -C mirror.git rev-parse main");
    json_t *all = summary(state, NULL, tip);
    assert_string_equal(json_string_value(json_object_get(all, "base")), base);
    assert_int_equal(number(all, "commits"), 2);
    assert_int_equal(number(all, "files"), 3);
    assert_int_equal(number(all, "insertions"), 3);
    assert_int_equal(number(all, "deletions"), 2);
    assert_true(json_is_true(json_object_get(all, "counted")));
    assert_true(json_is_false(json_object_get(all, "forced")));
    /* a package.json whose scripts stayed is no finding */
    assert_int_equal(json_array_size(json_object_get(all, "persistence")), 0);
    json_decref(all);
}

static void G10_each_finding(void **state)
{
    run("cd work; git checkout -qb evil; mkdir -p .github/workflows .claude .vscode; echo '{}' "
        ">.vscode/tasks.json; echo 'layout x' >.envrc;"
        "echo on: push >.github/workflows/x.yml; echo '{}' >.claude/settings.json;"
        "printf '{\"scripts\": {\"test\": \"true\", \"postinstall\": \"curl x\"}}' >package.json;"
        "ln -s /etc/passwd out; ln -s a.txt in; printf '#!/bin/sh\\n' >run.sh; chmod +x run.sh a.txt;"
        "printf x >$'bad\\xe2\\x80\\xaename'; git add .; git update-index --add --cacheinfo "
        "160000,$(git rev-parse HEAD),lib; git commit -qm evil");
    autofree char *tip = world_push(state, "evil");
    json_t *all = summary(state, NULL, tip);
    has(all, ".envrc", "shell", "new");
    has(all, ".vscode/tasks.json", "editor", "new");
    has(all, ".github/workflows/x.yml", "ci", "new");
    has(all, ".claude/settings.json", "agent", "new");
    has(all, "package.json", "packages", "changed");
    has(all, "run.sh", "executable", "new");
    has(all, "a.txt", "executable", "mode");
    has(all, "out", "symlink", "new");
    has(all, "lib", "submodule", "new");
    has(all, "bad\\u{202E}name", "name", "new");
    assert_string_equal(json_string_value(json_object_get(entry(all, "out", "symlink"), "target")),
                        "/etc/passwd");
    json_decref(all);
}

/* A rename to or from a name that runs, a link or a file in a folder's place, a broken package.json. */
static void findings_in_disguise(void **state)
{
    run("cd work; git checkout -qb sly; git mv a.txt Makefile; ln -s src .vscode; echo '{' >package.json;"
        "git add .; git commit -qm sly");
    autofree char *first = world_push(state, "sly");
    json_t *all = summary(state, NULL, first);
    has(all, "Makefile", "build", "new");
    has(all, ".vscode", "editor", "new");
    has(all, ".vscode", "symlink", "new");
    has(all, "package.json", "packages", "changed");
    json_decref(all);
    /* the second push touches nothing of it, and hides nothing of it either */
    run("cd work; echo more >>src/x.c; git commit -qam more");
    autofree char *second = world_push(state, "sly");
    all = summary(state, first, second);
    has(all, "Makefile", "build", "new");
    assert_int_equal(number(all, "commits"), 2);
    assert_int_equal(number(all, "new_commits"), 1);
    assert_true(json_is_false(json_object_get(all, "forced")));
    json_decref(all);
    run("cd work; git reset -q --hard main; echo other >>a.txt; git commit -qam other");
    autofree char *third = world_push(state, "sly");
    all = summary(state, second, third);
    assert_true(json_is_true(json_object_get(all, "forced")));
    json_decref(all);
}

/* After a merge of what the remote has meanwhile, only the agent's own work counts. */
static void a_merge_of_upstream(void **state)
{
    run("cd work; git checkout -qb fix; echo mine >mine; git add .; git commit -qm mine; git checkout -q "
        "main;"
        "echo up >.envrc; git add .; git commit -qm up; git push -q ../mirror.git main;"
        "git checkout -q fix; git merge -q -m merge main");
    autofree char *tip = world_push(state, "fix");
    json_t *all = summary(state, NULL, tip);
    assert_int_equal(number(all, "files"), 1);
    assert_int_equal(number(all, "commits"), 2);
    assert_null(entry(all, ".envrc", "shell"));
    json_decref(all);
}

static void a_history_of_its_own(void **state)
{
    run("cd work; git checkout -q --orphan new; git commit -qm alone");
    autofree char *tip = world_push(state, "new");
    json_t *all = summary(state, NULL, tip);
    assert_true(json_is_null(json_object_get(all, "base")));
    assert_int_equal(number(all, "files"), 3);
    has(all, "package.json", "packages", "new");
    json_decref(all);
}

/* Trees of trees that would be 10^10 files: cut, said, and at once. */
static void a_bomb_of_trees(void **state)
{
    run("cd quarantine.git; b=$(echo x | git hash-object -w --stdin);"
        "t=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '100644 blob %s\\t%s\\n' $b $i; done | git mktree);"
        "for d in 1 2 3 4 5 6 7 8 9; do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do "
        "printf '040000 tree %s\\t%s\\n' $t $i; done | git mktree); done;"
        "git update-ref refs/guest/heads/bomb $(git commit-tree -m bomb $t)");
    autofree char *tip = world_sh(state, "git -C quarantine.git rev-parse refs/guest/heads/bomb");
    json_t *all = summary(state, NULL, tip);
    assert_true(json_is_true(json_object_get(all, "cut")));
    has(all, "", "unread", "new");
    json_decref(all);
}

static void bad_questions(void **state)
{
    autofree char *quarantine = world_path(state, "quarantine.git");
    autofree char *nowhere = world_path(state, "nowhere.git");
    json_t *all = NULL;
    const char *sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    const char *none = "1111111111111111111111111111111111111111";

    assert_error(review_summary(nowhere, NULL, none, &all, &err), ERROR_NOT_FOUND, "nowhere.git");
    assert_error(review_summary(quarantine, NULL, none, &all, &err), ERROR_NOT_FOUND, none);
    assert_error(review_summary(quarantine, NULL, "main", &all, &err), ERROR_INVALID, "'main'");
    assert_error(review_summary(quarantine, NULL, sha256, &all, &err), ERROR_MISSING, "sha256");
    autofree char *blob = world_sh(state, "echo hello | git -C quarantine.git hash-object -w --stdin");
    assert_error(review_summary(quarantine, NULL, blob, &all, &err), ERROR_INVALID, "is a blob");
    assert_null(all);
}

/* Nothing that the quarantine's or the user's configuration says is run or obeyed while reading. */
static void G11_configuration_is_not_read(void **state)
{
    run("printf '[diff \"evil\"]\\n command = touch %s/ran\\n textconv = touch %s/ran\\n[filter \"evil\"]\\n "
        "smudge = touch %s/ran\\n clean = touch %s/ran\\n required = true\\n[merge \"evil\"]\\n driver = "
        "touch %s/ran\\n[core]\\n attributesFile = %s/attributes\\n fsmonitor = touch %s/ran\\n' "
        "$PWD $PWD $PWD $PWD $PWD $PWD $PWD | tee -a .gitconfig >>quarantine.git/config;"
        "echo '* diff=evil filter=evil merge=evil -text binary' | tee attributes "
        ">quarantine.git/info/attributes;"
        "echo '[[[ broken' >>.gitconfig");
    run("export HOME=/nonexistent GIT_CONFIG_GLOBAL=/dev/null; export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@x "
        "GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@x; cd work; echo '* binary' >.gitattributes;"
        "printf 'one\\ntwo\\nthree\\nfour\\n' >a.txt; git add .; git commit -qm x;"
        "git push -q ../quarantine.git HEAD:refs/guest/heads/x");
    autofree char *tip = world_sh(state, "GIT_CONFIG_GLOBAL=/dev/null git -C work rev-parse HEAD");
    json_t *all = summary(state, NULL, tip);
    /* an attribute that says binary would have hidden the line */
    assert_int_equal(number(all, "insertions"), 2);
    has(all, ".gitattributes", "git", "new");
    json_decref(all);
    autofree char *ran = world_path(state, "ran");
    assert_false(file_exists(ran));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),
        world_test(an_ordinary_push),
        world_test(G10_each_finding),
        world_test(findings_in_disguise),
        world_test(a_merge_of_upstream),
        world_test(a_history_of_its_own),
        world_test(a_bomb_of_trees),
        world_test(bad_questions),
        world_test(G11_configuration_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
