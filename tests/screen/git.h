/* git.h: what came out of a machine, as a hutchd tells it, that the screens of git are tested with. */
#ifndef HUTCH_TESTS_GIT_H
#define HUTCH_TESTS_GIT_H

#include "tests/screen/requests.h"

#include "base/alloc.h"

#define TIP  "4f2a91c0d7be5512aa03e1f09d2f5c1e7ab03344"
#define BASE "9d2f5c1e7ab03344aa03e1f04f2a91c0d7be5512"
#define REF(ref, kind, name, commit, commits, time, subject)                                                 \
    "{\"repo\":\"shop\",\"ref\":\"" ref "\",\"kind\":\"" kind "\",\"name\":\"" name                          \
    "\",\"commit\":\"" commit "\",\"time_ns\":17959" time "000000000,\"subject\":\"" subject                 \
    "\",\"commits\":" commits "}"
#define PUSHED(id, branch, commit, class, state, reason, by, time)                                           \
    "{\"repo\":\"shop\",\"request\":" id ",\"ref\":\"refs/pushes/" id "\",\"branch\":\"" branch              \
    "\",\"tag\":null,"                                                                                       \
    "\"commit\":\"" commit "\",\"class\":\"" class "\",\"state\":\"" state "\",\"reason\":\"" reason         \
                                                   "\",\"by\":\"" by "\",\"asked_ns\":17959" time            \
                                                   "000000000,\"changed_ns\":17959" time "000000000}"

/* A push that waits, with what it brings. */
#define PUSH_ROW REQUEST_ROW("41", "PUSH", "shop fix-checkout, 2 commits", "unusual", "waiting", "020") "}"
#define PUSH_FIELDS                                                                                          \
    "\"repo\":\"shop\",\"branch\":\"fix-checkout\",\"ref\":\"refs/heads/"                                    \
    "fix-checkout\",\"old\":null,\"new\":\"" TIP "\",\"base\":\"" BASE                                       \
    "\",\"commits\":2,\"new_commits\":2,\"files\":7,\"insertions\":23,\"deletions\":4,"                      \
    "\"counted\":true,\"cut\":false,\"forced\":false,\"persistence_more\":0,\"persistence\":["               \
    "{\"path\":\".envrc\",\"class\":\"shell\",\"change\":\"new\"},"                                          \
    "{\"path\":\"package.json\",\"class\":\"packages\",\"change\":\"changed\"},"                             \
    "{\"path\":\"out\",\"class\":\"symlink\",\"change\":\"new\",\"target\":\"../../.ssh\"}]"
#define PUSH_REQUEST                                                                                         \
    REQUEST("41", "PUSH", "shop fix-checkout, 2 commits", "unusual", "waiting", "020", "d41", PUSH_FIELDS,   \
            ALLOW("once", ""))

static inline void give_git(struct screen *screen)
{
    static const char *const refs[] = {
        REF("refs/guest/heads/fix-checkout", "branch", "fix-checkout", TIP, "2", "61000",
            "refuse an empty cart"),
        REF("refs/guest/heads/main", "branch", "main", BASE, "0", "40000", "the beginning"),
        REF("refs/guest/tags/v2", "tag", "v2", BASE, "0", "40000", "the beginning"),
        REF("refs/guest/heads/speed", "branch", "speed", "77aa", "3", "55000", "cache the prices"),
        REF("refs/work/heads/wip", "unpushed", "wip", "55bb", "1", "60000", "wip: \\u202eevil"),
        REF("refs/work/stash/0", "stash", "0", "55bc", "2", "60100", "WIP on main: 9d2f5c1 the beginning"),
        REF("refs/work/uncommitted", "uncommitted", "work/uncommitted", "55bd", "1", "61050",
            "not committed")};
    static const char *const pushes[] = {
        PUSHED("41", "fix-checkout", TIP, "unusual", "waiting", "", "", "61020"),
        PUSHED("40", "fix-checkout", "66cc", "routine", "denied", "no new dependencies, please", "you",
               "60020"),
        PUSHED("38", "speed", "77aa", "routine", "allowed", "landed as hutch/shop/speed", "hutch land",
               "55020")};
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/git?");
    for (size_t i = 0; i < countof(refs); i++)
        screen_line(screen, id, refs[i]);
    screen_answer(screen, id, NULL);
    id = screen_asked(screen, "GET", "/v1/projects/shop/git/pushes");
    for (size_t i = 0; i < countof(pushes); i++)
        screen_line(screen, id, pushes[i]);
    screen_answer(screen, id, NULL);
    id = screen_asked(screen, "GET", "/v1/git/lost");
    screen_line(
        screen, id,
        "{\"repo\":\"shop\",\"ref\":\"refs/lost/2026-11-20/old/work/uncommitted\",\"kind\":\"lost\","
        "\"name\":\"2026-11-20/old/work/uncommitted\",\"commit\":\"88dd\",\"time_ns\":1795100000000000000,"
        "\"subject\":\"not committed\",\"project\":\"shop\",\"folder\":\"/home/you/lost/old/shop.git\"}");
    screen_line(screen, id,
                "{\"repo\":\"x\",\"ref\":\"refs/lost/x\",\"kind\":\"lost\",\"project\":\"another\"}");
    screen_answer(screen, id, NULL);
}

#define FILE_ROW(number, path, old_path, status, modes, sizes, kind, more)                                   \
    "{\"file\":" number ",\"path\":\"" path "\",\"old_path\":" old_path ",\"status\":\"" status "\"," modes  \
    "," sizes ",\"kind\":\"" kind "\"," more "}"
#define MODES(old, new)  "\"old_mode\":" old ",\"new_mode\":" new
#define SIZES(old, new)  "\"old_size\":" old ",\"new_size\":" new
#define TEXT_OF(in, out) "\"binary\":false,\"too_large\":false,\"insertions\":" in ",\"deletions\":" out
#define HUNK(file, hunk, at)                                                                                 \
    "{\"file\":" file ",\"hunk\":" hunk ",\"header\":\"@@ -" at ",4 +" at                                    \
    ",5 @@ int total(cart)\",\"old_start\":" at ",\"old_lines\":4,\"new_start\":" at ",\"new_lines\":5}"
#define LINES(file, hunk, lines) "{\"file\":" file ",\"hunk\":" hunk ",\"lines\":[" lines "]}"

static const char *const push_files[] = {
    FILE_ROW("0", ".envrc", "null", "A", MODES("null", "\"100644\""), SIZES("null", "9"), "file",
             TEXT_OF("1", "0") ",\"class\":\"shell\""),
    FILE_ROW("1", "package.json", "null", "M", MODES("\"100644\"", "\"100644\""), SIZES("310", "341"), "file",
             TEXT_OF("1", "1") ",\"class\":\"packages\""),
    FILE_ROW("2", "out", "null", "A", MODES("null", "\"120000\""), SIZES("null", "10"), "symlink",
             TEXT_OF("1", "0") ",\"class\":null,\"target\":\"../../.ssh\",\"outside\":true"),
    FILE_ROW("3", "src/checkout.c", "null", "M", MODES("\"100644\"", "\"100755\""), SIZES("2100", "2304"),
             "file", TEXT_OF("5", "2") ",\"class\":null"),
    FILE_ROW("4", "src/cart.c", "\"src/basket.c\"", "R", MODES("\"100644\"", "\"100644\""),
             SIZES("800", "800"), "file", TEXT_OF("0", "0") ",\"class\":null"),
    FILE_ROW("5", "logo.png", "null", "M", MODES("\"100644\"", "\"100644\""), SIZES("20480", "24000"), "file",
             "\"binary\":true,\"too_large\":false,\"insertions\":null,\"deletions\":null,\"class\":null"),
    FILE_ROW("6", "names/\\u6f22\\u5b57\\u202egpj.c", "null", "D", MODES("\"100644\"", "null"),
             SIZES("4", "null"), "file", TEXT_OF("0", "1") ",\"class\":null"),
};

/* What waits, its commits and its files; the screen of it is open. */
static inline void give_push(struct screen *screen)
{
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/git/summary");
    screen_line(screen, id, "{\"name\":\"#41\"," PUSH_FIELDS ",\"tip\":\"" TIP "\"}");
    screen_answer(screen, id, NULL);
    if (screen_asked(screen, "GET", "/v1/requests/41"))
        screen_answer(screen, screen_asked(screen, "GET", "/v1/requests/41"), PUSH_REQUEST);
    id = screen_asked(screen, "GET", "/v1/projects/shop/git/log");
    screen_line(screen, id,
                "{\"name\":\"x\",\"ref\":\"\",\"tip\":\"" TIP "\",\"base\":\"" BASE "\",\"more\":false}");
    screen_line(screen, id,
                "{\"id\":\"" TIP
                "\",\"subject\":\"refuse an empty cart\",\"body\":\"A cart without items has no "
                "total.\\n\\nSee \\u001b[31mthe\\u202e "
                "test.\",\"time\":1795961000,\"parents\":1,\"author\":\"agent\","
                "\"mail\":\"agent@shop\",\"committer\":\"agent\",\"committer_mail\":\"agent@shop\"}");
    screen_line(
        screen, id,
        "{\"id\":\"1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e\",\"subject\":\"move the basket\",\"body\":\"\","
        "\"time\":1795960400,\"parents\":1,\"author\":\"agent\",\"mail\":\"agent@shop\",\"committer\":"
        "\"you\","
        "\"committer_mail\":\"you@localhost\"}");
    screen_answer(screen, id, NULL);
    id = screen_asked(screen, "GET", "/v1/projects/shop/git/diff");
    screen_line(screen, id,
                "{\"name\":\"x\",\"ref\":\"\",\"tip\":\"" TIP "\",\"base\":\"" BASE
                "\",\"files\":7,\"cut\":false}");
    for (size_t i = 0; i < countof(push_files); i++)
        screen_line(screen, id, push_files[i]);
    screen_answer(screen, id, NULL);
    screen_forget(screen);
}

/* The lines of its files, as a page that was asked for. */
static inline void give_lines(struct screen *screen)
{
    static const char *const lines[] = {
        HUNK("0", "0", "1"),
        LINES("0", "0", "\"+layout x\",\"\\\\\""),
        HUNK("1", "0", "3"),
        LINES("1", "0",
              "\" {\",\"-  \\\"test\\\": \\\"node test\\\",\",\"+  \\\"postinstall\\\": \\\"sh x\\\",\",\" "
              "}\""),
        HUNK("3", "0", "10"),
        LINES("3", "0",
              "\" int total(struct cart *cart)\",\" {\",\"-\\tif (cart->count > 0)\",\"+\\tif (cart->count "
              ">= 1)\","
              "\"+\\t\\treturn 0;\",\" \\tint sum = 0;\""),
        HUNK("3", "1", "40"),
        LINES(
            "3", "1",
            "\" /* \\u001b]0;x\\u0007\\u202e \\u6f22\\u5b57 \\u200b */\",\"-old words that go away "
            "entirely\","
            "\"+quite another line\",\"+and one more\",\"+and the last one, which is a good deal longer than "
            "eighty columns so that it has to be cut or wrapped\",\" }\""),
        HUNK("6", "0", "1"),
        LINES("6", "0", "\"-gone\"")};
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/git/diff");
    size_t at = 0;
    screen_line(screen, id,
                "{\"name\":\"x\",\"ref\":\"\",\"tip\":\"" TIP "\",\"base\":\"" BASE
                "\",\"files\":7,\"cut\":false}");
    for (size_t i = 0; i < countof(push_files); i++) {
        autofree char *mine = xasprintf("{\"file\":%zu,", i);
        screen_line(screen, id, push_files[i]);
        for (; at < countof(lines) && !strncmp(lines[at], mine, strlen(mine)); at++)
            screen_line(screen, id, lines[at]);
    }
    screen_answer(screen, id, NULL);
}

/* Opens what waits from the Git tab. */
static inline void open_push(struct screen *screen)
{
    screen_keys(screen, "5");
    give_git(screen);
    screen_keys(screen, "Enter");
    give_push(screen);
    app_draw(screen->app, screen->grid);
}

#endif
