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
    screen_answer(screen, screen_asked(screen, "GET", "/v1/git/lost"), NULL);
}

#endif
