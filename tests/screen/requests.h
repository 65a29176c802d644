/* requests.h: the requests, flows and rules of a hutchd that their screens are tested with. */
#ifndef HUTCH_TESTS_REQUESTS_H
#define HUTCH_TESTS_REQUESTS_H

#include "tests/screen/screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define REQUEST_ROW(id, kind, subject, class, state, asked)                                                  \
    "{\"id\":" id ",\"project\":\"shop\",\"kind\":\"" kind "\",\"subject\":\"" subject                       \
    "\",\"class\":\"" class "\",\"state\":\"" state "\",\"asked_ns\":1795961" asked                          \
                            "000000000,\"changed_ns\":1795961" asked "000000000,\"attempts\":1"
#define REQUEST(id, kind, subject, class, state, asked, digest, fields, answers)                             \
    REQUEST_ROW(id, kind, subject, class, state, asked)                                                      \
    ",\"boot\":\"b1\",\"session\":\"s3\",\"generation\":4,\"fields\":{" fields "},\"consequence\":\"\","     \
    "\"undo\":null,\"waiters\":1,\"answers\":[" answers "{\"verdict\":\"deny\",\"does\":\"\"}],"             \
    "\"digest\":\"" digest "\",\"nonce\":\"n" id "\"}"
#define ALLOW(scope, more) "{\"verdict\":\"allow\",\"scope\":\"" scope "\",\"does\":\"\"" more "},"
#define CLAIM(argv)                                                                                          \
    "\"claim\":{\"argv\":[" argv "],\"known\":true,\"argc\":3,\"cut\":false,\"pid\":412,\"uid\":1000,"       \
    "\"exe\":\"/usr/bin/curl\",\"cwd\":\"/home/agent/shop\",\"session\":\"s3\"}"
#define SITE(host, uploads, seen)                                                                            \
    "\"site\":{\"host\":\"" host "\",\"uploads\":" uploads ",\"seen_ns\":" seen ",\"last_ns\":" seen         \
    ",\"elsewhere_ns\":null,\"registrable\":\"" host "\"}"
#define FIELDS(host, port, proto, reason, asks, missing, cap, more)                                          \
    "\"authority\":\"" host ":" port "\",\"host\":\"" host "\",\"port\":" port ",\"proto\":\"" proto         \
    "\",\"reason\":\"" reason "\",\"asks\":\"" asks "\",\"rule_missing\":\"" missing "\",\"cap_hour\":" cap  \
    ",\"sent\":0," more

#define ROUTINE_OF(id, host, digest, argv)                                                                   \
    REQUEST(id, "CONNECT", host ":443", "routine", "frozen", "091", digest,                                  \
            FIELDS(host, "443", "tls", "unknown", "no rule names it", "allow " host ":443", "8388608",       \
                   SITE(host, "false", "null") "," CLAIM(argv)),                                             \
            ALLOW("once", "") ALLOW("session", "") ALLOW("project", ",\"rule\":\"allow " host ":443\""))
#define CURL    "\"curl\",\"-sSL\",\"https://docs.rs/tokio/latest/tokio/\""
#define ROUTINE ROUTINE_OF("33", "docs.rs", "d33", CURL)
#define UNUSUAL                                                                                              \
    REQUEST("31", "UPLOAD", "transfer.example:443", "unusual", "frozen", "085", "d31",                       \
            FIELDS("transfer.example", "443", "tls", "upload", "it has sent as much as its rule lets it",    \
                   "allow transfer.example:443 upload=8M", "1048576",                                        \
                   SITE("transfer.example", "true",                                                          \
                        "null") "," CLAIM("\"curl\",\"-T\",\"dump.sql\",\"https://transfer.example/\"")),    \
            ALLOW("once", "") ALLOW("session", ""))
#define CRITICAL                                                                                             \
    REQUEST(                                                                                                 \
        "40", "PRIVATE", "db.corp.example:5432", "critical", "waiting", "000", "d40",                        \
        FIELDS("db.corp.example", "5432", "tcp", "private-ask", "the name leads to a private address",       \
               "allow db.corp.example:5432/tcp private=10.20.0.7/32", "null",                                \
               "\"class\":\"private\"," SITE("db.corp.example", "false", "1795870000000000000") "," CLAIM(   \
                   "\"psql\",\"-h\",\"db.corp.example\",\"-c\",\"select 1\"")),                              \
        ALLOW("once", ""))

static inline void draw(struct screen *screen)
{
    app_draw(screen->app, screen->grid);
}

/* The body of the answer that was sent, or NULL. */
static inline const json_t *sent(struct screen *screen)
{
    const json_t *body = NULL;
    for (struct effect *effect = screen->effects.first; effect; effect = effect->next)
        if (effect->path && !strcmp(effect->method, "POST") && strstr(effect->path, "/answer"))
            body = effect->body;
    return body;
}

static inline const char *member(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

static inline void assert_sent(struct screen *screen, const char *verdict, const char *scope)
{
    const json_t *body = sent(screen);
    assert_non_null(body);
    assert_string_equal(member(body, "verdict"), verdict);
    assert_string_equal(member(body, "scope"), scope);
}

/* Three names of one command: a question of three lines. */
#define BATCH_OF(id, host, class)                                                                            \
    "{\"id\":" id                                                                                            \
    ",\"batch\":51,\"session\":\"s3\",\"project\":\"shop\",\"kind\":\"CONNECT\",\"subject\":\"" host         \
    ":443\","                                                                                                \
    "\"class\":\"" class "\",\"state\":\"frozen\",\"asked_ns\":1795961091000000000,\"changed_ns\":"          \
                         "1795961091000000000,"                                                              \
                         "\"attempts\":1,\"boot\":\"b1\",\"generation\":4,\"fields\":{" FIELDS(              \
                             host, "443", "tls", "unknown", "no rule names it", "allow " host ":443",        \
                             "8388608",                                                                      \
                             SITE(host, "false", "null") "," CLAIM(                                          \
                                 "\"cargo\",\"build\"")) "},\"consequence\":\"\",\"undo\":null,\"waiters\":" \
                                                         "1,\"answers\":[" ALLOW("once", "")                 \
                                                             ALLOW("session", "") ALLOW(                     \
                                                                 "project",                                  \
                                                                 ",\"rule\":\"allow " host                   \
                                                                 ":443\"") "{\"verdict\":\"deny\",\"does\":" \
                                                                           "\"\"}],\"digest\":\"d" id        \
                                                                           "\",\"nonce\":\"n" id "\"}"
#define BATCH_FIRST  BATCH_OF("51", "index.crates.io", "routine")
#define BATCH_SECOND BATCH_OF("52", "static.crates.io", "routine")
#define BATCH_THIRD  BATCH_OF("53", "paste.example", "unusual")

/* The list that is out. */
static inline uint64_t asked_list(struct screen *screen)
{
    return screen->app->inbox.call;
}

/* hutchd lists these: rows, ended by NULL. */
static inline void give_requests(struct screen *screen, const char *const *rows)
{
    uint64_t id = asked_list(screen);
    for (; *rows; rows++)
        screen_line(screen, id, *rows);
    screen_answer(screen, id, NULL);
}

/* The one request waits, is opened and drawn; the guard has ended. */
static inline void open_request(struct screen *screen, const char *path, const char *json)
{
    const char *const rows[] = {json, NULL};
    give_requests(screen, rows);
    screen_keys(screen, "a");
    give_requests(screen, rows);
    screen_answer(screen, screen_asked(screen, "GET", path), json);
    app_draw(screen->app, screen->grid);
    screen_time(screen, 1000);
    app_draw(screen->app, screen->grid);
    screen_forget(screen);
}

static inline void give_flows(struct screen *screen)
{
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/flows");
    screen_line(
        screen, id,
        "{\"id\":7,\"state\":\"relay\",\"session\":\"s3\",\"up\":2048,\"down\":43200512,\"ms\":9000,"
        "\"req\":{\"host\":\"npm.registry.local\",\"port\":443,\"literal\":false,\"proto\":\"tls\"}}");
    screen_line(
        screen, id,
        "{\"id\":9,\"state\":\"ask\",\"session\":\"s3\",\"up\":0,\"down\":0,\"ms\":4000,\"request\":33,"
        "\"missing\":\"allow docs.rs:443\",\"reason\":\"unknown\",\"claim\":{\"argv\":[\"curl\"]},"
        "\"req\":{\"host\":\"docs.rs\",\"port\":443,\"literal\":false,\"proto\":\"tls\"}}");
    screen_answer(screen, id, NULL);
}

#define NET_EVENT(seq, ts, kind, verdict, more, data)                                                        \
    "{\"seq\":" seq ",\"ts_ns\":17959610" ts "000000000,\"project\":\"shop\",\"kind\":\"" kind               \
    "\",\"actor\":\"guest\",\"subject\":\"x\",\"verdict\":\"" verdict "\"," more "\"data\":{" data "}}"
#define NET_DATA(host, conn, rule, used)                                                                     \
    "\"req\":{\"host\":\"" host "\",\"port\":443,\"literal\":false,\"proto\":\"tls\"},\"rule_text\":\"" rule \
    "\",\"claim\":{\"argv\":[\"/usr/bin/npm\",\"ci\"],\"pid\":9,\"uid\":1000},\"conn\":\"" conn              \
    "\",\"addr\":{\"used\":\"" used "\"}"

static inline void give_connections(struct screen *screen)
{
    screen_event(screen,
                 NET_EVENT("201", "60", "egress.open", "allow", "",
                           NET_DATA("binaries.prisma.sh", "r-1-6", "allow *.prisma.sh", "192.0.2.7")));
    screen_event(screen,
                 NET_EVENT("202", "61", "egress.open", "allow", "",
                           NET_DATA("npm.registry.local", "r-1-7", "allow npm.registry.local", "192.0.2.8")));
    screen_event(screen,
                 NET_EVENT("203", "68", "egress.close", "allow",
                           "\"bytes_up\":1200,\"bytes_down\":10276045,\"ms\":8000,",
                           NET_DATA("binaries.prisma.sh", "r-1-6", "allow *.prisma.sh", "192.0.2.7")));
    screen_event(screen,
                 NET_EVENT("204", "70", "egress.deny", "floor", "",
                           "\"req\":{\"host\":\"169.254.169.254\",\"port\":80,\"literal\":true},\"reason\":"
                           "\"floor\",\"claim\":{\"argv\":[\"curl\"]},\"count\":12"));
}

static inline void give_rules(struct screen *screen)
{
    uint64_t id = screen_asked(screen, "GET", "/v1/projects/shop/rules?past=1");
    screen_line(screen, id,
                "{\"id\":\"a1\",\"layer\":\"preset\",\"source\":\"preset debian\",\"line\":0,\"text\":"
                "\"allow deb.debian.org:80\",\"decision\":\"allow\",\"hits\":0,\"last_ns\":0,"
                "\"past\":0,\"past_ns\":0}");
    screen_line(
        screen, id,
        "{\"id\":\"a2\",\"layer\":\"user\",\"source\":\"/home/you/.config/hutch/rules.ini\",\"line\":3,"
        "\"text\":\"deny "
        "telemetry.example\",\"decision\":\"deny\",\"hits\":31,\"past\":40,\"past_ns\":1795960990000000000,"
        "\"last_ns\":1795960990000000000}");
    screen_line(
        screen, id,
        "{\"id\":\"a3\",\"layer\":\"project\",\"source\":\"/home/you/.config/hutch/projects/shop.ini\","
        "\"line\":5,\"text\":\"allow "
        "*.prisma.sh\",\"decision\":\"allow\",\"hits\":1,\"past\":3,\"past_ns\":1795961060000000000,"
        "\"last_ns\":1795961060000000000}");
    screen_answer(screen, id, "{\"mode\":\"ask\"}");
}

#endif
