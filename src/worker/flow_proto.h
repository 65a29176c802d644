/* flow_proto.h: the part of proto.h about egress: one flow is one CONNECT stream of the egress port.
 *
 *   guest ── CONNECT host:port ──▶ worker ── FLOW_ASK ──▶ hutchd           decides, or holds while it asks
 *                                  worker ◀─ FLOW_VERDICT ── hutchd         refused: an answer with a body,
 * the end allowed: the worker answers 200, reads the first flight (tls, http) or nothing (tcp) worker ──
 * FLOW_READY ──▶ hutchd          writes egress.open, dials what it resolved worker ◀─ FLOW_DIALED + fd ──
 * hutchd     relay until worker ── FLOW_END ──▶ hutchd            writes egress.close
 *
 * Bytes towards the upstream pass only against credit: FLOW_VERDICT brings the first, FLOW_NEED asks for more
 * (the worker stops reading from the guest meanwhile), FLOW_CREDIT gives it. Each flow that began with
 * FLOW_ASK ends with exactly one FLOW_END, also when it was refused, or cut by FLOW_CUT; a message about a
 * flow that has ended meanwhile is ignored by both sides. */
#ifndef HUTCH_WORKER_FLOW_PROTO_H
#define HUTCH_WORKER_FLOW_PROTO_H

#include <stdint.h>

#define FLOW_AUTHORITY_MAX                                                                                   \
    320                    /* 253 and brackets, colon, port; longer ones are refused by the worker: form */
#define FLOW_BODY_MAX 4096 /* of a refusal, with its NUL */
#define FLOW_PATH_MAX                                                                                        \
    2048 /* of an HTTP request, as shown and matched, with its NUL; longer ones are refused: form */
#define FLOW_ALPN_MAX   8
#define FLOW_CREDIT_ALL UINT64_MAX

/* By which door a flow came, as the guest says (guest_claimed like all of the claim). */
#define FLOW_ENTRANCES(X)                                                                                    \
    X(CONNECT, "connect")   /* HTTP CONNECT at the guest's proxy */                                          \
    X(ABSOLUTE, "absolute") /* absolute-form HTTP request at the guest's proxy */                            \
    X(SOCKS_NAME, "socks-name")                                                                              \
    X(SOCKS_ADDRESS, "socks-address")                                                                        \
    X(CAPTURE_NAME, "capture-name")       /* captured TCP to a synthetic address: the name behind it */      \
    X(CAPTURE_ADDRESS, "capture-address") /* captured TCP to any other address */

enum flow_entrance {
#define X(name, word) FLOW_##name,
    FLOW_ENTRANCES(X)
#undef X
        FLOW_ENTRANCE_COUNT
};

/* The process that asked, as the guest tells it. Text is NUL-terminated, bounded, untrusted. */
struct flow_claim {
    uint32_t known;               /* 0: the guest could not say */
    uint32_t pid, uid, argc, cut; /* cut: argv is not whole */
    char exe[256], cwd[256], session[36];
    char argv[1024]; /* words separated by NUL, two NULs at the end */
    char says[256];  /* its own words for the person who is asked */
};

/* worker -> hutchd */
struct wmsg_flow_ask {
    uint32_t type, entrance;
    uint64_t flow; /* the worker's number, never used twice */
    char authority[FLOW_AUTHORITY_MAX];
    struct flow_claim claim;
};
/* The first flight is right (tls: the ClientHello was checked; http: a first head came; tcp: at once). */
struct wmsg_flow_ready {
    uint32_t type, ech;
    uint64_t flow;
    uint32_t tls_version; /* highest offered, 0x0303 …; 0: no TLS */
    uint32_t alpn_count;
    char sni[256];
    char alpn[FLOW_ALPN_MAX][32];
};
/* http: each request, before a byte of it goes on. Answered by FLOW_REQUEST_VERDICT. */
struct wmsg_flow_request {
    uint32_t type, number; /* of this flow, from 1 */
    uint64_t flow;
    char method[24];
    char path[FLOW_PATH_MAX]; /* canonical, query removed */
};
/* http: the response head of request NUMBER. */
struct wmsg_flow_response {
    uint32_t type, number;
    uint64_t flow;
    uint32_t status, reserved;
};
/* All credit is used and the guest has more. */
struct wmsg_flow_need {
    uint32_t type, reserved;
    uint64_t flow, up, down, waiting; /* bytes passed so far; bytes that wait in the worker */
};
/* Once a second for each flow that moved. */
struct wmsg_flow_stat {
    uint32_t type, reserved;
    uint64_t flow, up, down;
};
#define FLOW_ENDS(X)                                                                                         \
    X(REFUSED, "refused")   /* by FLOW_VERDICT or FLOW_REQUEST_VERDICT */                                    \
    X(DONE, "done")         /* both sides ended in order */                                                  \
    X(GUEST, "guest")       /* the guest reset the stream or went away */                                    \
    X(UPSTREAM, "upstream") /* the upstream reset, or could not be reached */                                \
    X(CUT, "cut")           /* FLOW_CUT */                                                                   \
    X(FORM, "form")         /* the worker refused what came: reason says why */                              \
    X(IDLE, "idle")         /* nothing for FLOW_IDLE_MS, or no first flight in time (reason) */              \
    X(LOST, "lost")         /* the port or the worker went away */
enum flow_end {
#define X(name, word) FLOW_END_##name,
    FLOW_ENDS(X)
#undef X
        FLOW_END_COUNT
};
struct wmsg_flow_end {
    uint32_t type, end;
    uint64_t flow, up, down;
    char reason[48]; /* a fixed code: of guard's for FORM ("sni-mismatch"), "first-flight-time" … */
};

/* hutchd -> worker */
enum flow_verdict { FLOW_ALLOW, FLOW_REFUSE, FLOW_REPLY /* a reserved name: status and body, in order */ };
enum flow_proto { FLOW_TLS, FLOW_HTTP, FLOW_TCP };
enum flow_flags {
    FLOW_ECH_DENY = 1,
    FLOW_LITERAL = 2,   /* the host is an address: TLS must carry no SNI */
    FLOW_WEBSOCKET = 4, /* Upgrade: websocket may pass */
};
struct wmsg_flow_verdict {
    uint32_t type, verdict;
    uint64_t flow;
    uint32_t proto, flags, status, port; /* status of REFUSE and REPLY: 400 403 502 503 … */
    uint64_t credit;                     /* bytes up at first */
    uint32_t idle_s, body_len;           /* 0: the worker's own limit */
    char host[256];                      /* canonical: what SNI and Host must be */
    char body[FLOW_BODY_MAX];            /* JSON */
};
struct wmsg_flow_dialed { /* + fd when ok */
    uint32_t type, ok;
    uint64_t flow;
    char reason[48]; /* a fixed code when it failed; the guest sees its stream reset, an http client a 502 */
};
struct wmsg_flow_request_verdict {
    uint32_t type, ok;
    uint64_t flow;
    uint32_t number, status;
    char body[FLOW_BODY_MAX];
};
struct wmsg_flow_credit {
    uint32_t type, reserved;
    uint64_t flow, more; /* added to what is left; FLOW_CREDIT_ALL: no limit from now on */
};
struct wmsg_flow_cut {
    uint32_t type, reserved;
    uint64_t flow;
};

#endif
