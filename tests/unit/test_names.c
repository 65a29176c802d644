/* Names: which are taken, which rule refuses the others, what a path or URL gives. */
#include "test_base_scratch.h"

#include "conf/names.h"

static void good_names_pass(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "shop", "my-shop", "9p", "a--b", "a-", "up2", "show-case"};
    for (size_t i = 0; i < countof(names); i++)
        assert_ok(name_check("project", names[i], &err));
    autofree char *longest = xcalloc(NAME_MAX_LENGTH + 2, 1);
    memset(longest, 'a', NAME_MAX_LENGTH);
    assert_ok(name_check("project", longest, &err));
    longest[NAME_MAX_LENGTH] = 'a';
    assert_error(name_check("project", longest, &err), ERROR_INVALID, "33 bytes, the limit is 32");
}

static void bad_names_say_the_rule(void **state)
{
    (void)state;
    assert_error(name_check("project", "", &err), ERROR_INVALID, "the project's name is empty");
    assert_error(name_check("project", "a/b", &err), ERROR_INVALID, "character 2 is not allowed");
    assert_error(name_check("project", "..", &err), ERROR_INVALID, "character 1 is not allowed");
    assert_error(name_check("project", "a b", &err), ERROR_INVALID, "character 2");
    assert_error(name_check("project", "-a", &err), ERROR_INVALID, "at the start");
    assert_error(name_check("project", "Shop", &err), ERROR_INVALID, "character 1");
    assert_error(name_check("project", "caf\xC3\xA9", &err), ERROR_INVALID, "character 4");
    assert_error(name_check("project", "a\x1b[2J", &err), ERROR_INVALID, "\\e");
    assert_error(name_check("project", "up", &err), ERROR_INVALID, "verb");
    assert_ok(name_check("project", "demo", &err)); /* doc/decisions/demo-name.md */
    assert_error(name_check("project", "2024", &err), ERROR_INVALID, "number");
    char name[301];
    memset(name, 'x', 300);
    name[300] = '\0';
    auto(error) struct error *err = NULL;
    assert_int_equal(name_check("project", name, &err), -ERROR_INVALID);
    assert_non_null(strstr(err->message, "300 bytes"));
    assert_true(strlen(err->message) < 160);
}

static void refusals_offer_a_name(void **state)
{
    (void)state;
    auto(error) struct error *err = NULL;
    name_check("project", "My Shop", &err);
    assert_non_null(strstr(err->hint, "\"my-shop\" would do"));
}

/* A verb or a year can name a template or a repository. */
static void verbs_are_for_projects_alone(void **state)
{
    (void)state;
    for (size_t i = 0; name_verbs[i]; i++) {
        assert_error(name_check("project", name_verbs[i], &err), ERROR_INVALID, "verb");
        assert_ok(name_check("repository", name_verbs[i], &err));
        if (i > 0)
            assert_true(strcmp(name_verbs[i - 1], name_verbs[i]) < 0);
    }
    assert_ok(name_check("template", "2024", &err));
}

static void names_come_from_places(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"My Shop.git", "my-shop"},
        {"/home/me/src/hutch", "hutch"},
        {"/home/me/src/hutch/", "hutch"},
        {"/home/me/src/hutch/.git", "hutch"},
        {"https://git.example.org/a/Tool_2.git#v1.0", "tool-2"},
        {"git@example.org:tool.git", "tool"},
        {"ssh://example.org/~me/x.y.z/", "x-y-z"},
        {"--x--", "x"},
        {"a_very_long_name_of_a_folder_that_goes_on", "a-very-long-name-of-a-folder-tha"},
        {"abcdefghijklmnopqrstuvwxyz01234 67", "abcdefghijklmnopqrstuvwxyz01234"},
    };
    for (size_t i = 0; i < countof(pairs); i++) {
        autofree char *name = name_from(pairs[i][0]);
        assert_non_null(name);
        assert_string_equal(name, pairs[i][1]);
        assert_ok(name_check("repository", name, &err));
    }
    static const char *const empty[] = {"", "/", "...", ".git", "\xC3\xA9", "#ref"};
    for (size_t i = 0; i < countof(empty); i++)
        assert_null(name_from(empty[i]));
}

int main(void)
{
    alarm(60);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_names_pass),        cmocka_unit_test(bad_names_say_the_rule),
        cmocka_unit_test(refusals_offer_a_name),  cmocka_unit_test(verbs_are_for_projects_alone),
        cmocka_unit_test(names_come_from_places),
    };
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
