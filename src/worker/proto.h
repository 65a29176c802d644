/* proto.h: what hutchd and a hutch-worker say to each other: fixed structs over a SOCK_SEQPACKET pair (no
 * JSON from the worker to hutchd: hutchd parses nothing that a guest wrote). Both ends are of one build; the
 * setup message carries the version. All text in messages to hutchd is bounded, NUL-terminated and still
 * untrusted: it goes through text.h before it is shown. */
#ifndef HUTCH_WORKER_PROTO_H
#define HUTCH_WORKER_PROTO_H

#include "worker/flow_proto.h"

#include <stdint.h>

#define WMSG_VERSION   4
#define WMSG_BODY_MAX  (150 * 1024) /* path + body of a call (argv, environment) */
#define WMSG_TEXT_MAX  512
#define WMSG_HINT_MAX  256
#define WMSG_KEY_SIZE  32 /* HELLO_KEY_SIZE */
#define WMSG_KEYS      2
#define WMSG_CALLS_MAX 512    /* calls that run at a time */
#define WMSG_ITEMS_MAX 100000 /* elements of one list */

enum guest_port { PORT_CONTROL, PORT_EGRESS, PORT_BULK, PORT_COUNT };

enum wmsg_type {
    /* hutchd -> worker */
    WMSG_SETUP = 1, /* struct wmsg_setup; first */
    WMSG_PORT,      /* struct wmsg_port + 1 fd: a fresh connection to that port's socket */
    WMSG_KEY_SAVED, /* struct wmsg_port: the key that WMSG_KEY announced is recorded; the hello may go out */
    WMSG_RUNNING,   /* struct wmsg_running: 0 while the VM is paused, frozen or not booted: no hello, no ping,
                       no alarm */
    WMSG_CALL,      /* struct wmsg_call + path + body, 0 or 1 fd (a stream socket) */
    WMSG_CANCEL,    /* struct wmsg_id: reset that call; its WMSG_RESULT still comes */
    WMSG_FLOW_VERDICT, /* flow_proto.h, as all of these */
    WMSG_FLOW_DIALED,
    WMSG_FLOW_REQUEST_VERDICT,
    WMSG_FLOW_CREDIT,
    WMSG_FLOW_CUT,
    /* worker -> hutchd */
    WMSG_PORT_NEEDED = 64, /* struct wmsg_port: connect anew and send WMSG_PORT */
    WMSG_KEY,              /* struct wmsg_key: record it, then answer WMSG_KEY_SAVED */
    WMSG_PORT_STATE,       /* struct wmsg_port: value 1 in step, 0 lost */
    WMSG_ITEM,             /* struct wmsg_item: one element of a list */
    WMSG_RESULT,           /* struct wmsg_item: the end of a call, with its outcome */
    WMSG_HEAD,             /* struct wmsg_head: a streaming call was accepted; bytes flow now */
    WMSG_ALERT,            /* struct wmsg_alert: a limit was broken */
    WMSG_FLOW_ASK,
    WMSG_FLOW_READY,
    WMSG_FLOW_REQUEST,
    WMSG_FLOW_RESPONSE,
    WMSG_FLOW_NEED,
    WMSG_FLOW_STAT,
    WMSG_FLOW_END,
};

struct wmsg_setup {
    uint32_t type, version;
    char project[40];
};
/* WMSG_PORT carries the keys that the guest may be looking for: the last one recorded for this boot and,
 * where it is known to differ, that of the last session that was in step (the worker may have ended between
 * recording a key and sending it). */
struct wmsg_port {
    uint32_t type, port, value, key_count;
    uint8_t keys[WMSG_KEYS][WMSG_KEY_SIZE];
};
struct wmsg_key {
    uint32_t type, port;
    uint8_t key[WMSG_KEY_SIZE];
};
struct wmsg_running {
    uint32_t type, running;
};
struct wmsg_id {
    uint32_t type, id;
};

enum wmsg_call_flags {
    /* Bytes of the fd become the request body. shutdown(SHUT_WR) with the socket still open ends it; a socket
     * that is closed instead (its owner died) cuts it: the stream is reset. So the other end stays open until
     * the result is there. */
    WCALL_STREAM_IN = 1,
    WCALL_STREAM_OUT = 2, /* the response body goes to the fd */
};
struct wmsg_call {
    uint32_t type, id; /* id: hutchd's, not 0, unique among the running calls */
    uint32_t op;       /* enum guest_op */
    uint32_t port;     /* PORT_CONTROL or PORT_BULK */
    uint32_t flags;
    uint32_t path_len, body_len; /* bytes that follow: path (not terminated), JSON body */
};

enum guest_result_kind {
    GUEST_NOTHING,
    GUEST_HEALTH,
    GUEST_SESSION,
    GUEST_FILE,
    GUEST_REPO,
    GUEST_PACKAGE_HOST,
    GUEST_RESULT_KINDS
};

/* Every call the host makes: X(NAME, method, kind of result or list element, answer is a list of lines) */
#define GUEST_OPS(X)                                                                                         \
    X(HEALTH, "GET", GUEST_HEALTH, 0)                                                                        \
    X(PUT, "PUT", GUEST_NOTHING, 0) /* clock, identity, power, grow … */                                   \
    X(SESSION_START, "POST", GUEST_SESSION, 0)                                                               \
    X(SESSION_SHOW, "GET", GUEST_SESSION, 0) /* also …/wait */                                             \
    X(SESSION_LIST, "GET", GUEST_SESSION, 1)                                                                 \
    X(POST, "POST", GUEST_NOTHING, 0) /* resize, signal, folder … */                                       \
    X(DELETE, "DELETE", GUEST_NOTHING, 0)                                                                    \
    X(FILE_STAT, "GET", GUEST_FILE, 0)                                                                       \
    X(FILE_LIST, "GET", GUEST_FILE, 1)                                                                       \
    X(READ, "GET", GUEST_NOTHING, 0)    /* stream out */                                                     \
    X(WRITE, "PUT", GUEST_NOTHING, 0)   /* stream in */                                                      \
    X(DUPLEX, "POST", GUEST_NOTHING, 0) /* both ways: git, tcp */                                            \
    X(REPO, "POST", GUEST_REPO, 0)      /* prepare, check out */                                             \
    X(PACKAGE_HOSTS, "GET", GUEST_PACKAGE_HOST, 1)

enum guest_op {
#define X(name, method, kind, list) GUEST_OP_##name,
    GUEST_OPS(X)
#undef X
        GUEST_OP_COUNT
};

enum guest_phase { PHASE_NONE, PHASE_KERNEL, PHASE_AGENT, PHASE_SYSTEM, PHASE_READY, PHASE_FAILED };

enum guest_capture { CAPTURE_UNKNOWN, CAPTURE_ON, CAPTURE_PENDING, CAPTURE_OFF };
struct guest_health {
    uint32_t version, phase; /* hutch-guest's protocol version; enum guest_phase */
    char boot_id[40], hostname[256], kernel[128], os[128];
    int64_t time_ns, uptime_ms;
    uint64_t memory_total, memory_available, disk_size, disk_free;
    char failed_units[WMSG_TEXT_MAX];
    /* Of the way out: where its proxy listens; whether what knows no proxy is captured, and why not. */
    uint32_t capture; /* enum guest_capture */
    char proxy[64], capture_reason[WMSG_TEXT_MAX];
};
enum guest_session_state { SESSION_STARTING, SESSION_RUNNING, SESSION_EXITED, SESSION_LOST };
struct guest_session {
    char id[36];
    uint32_t state, pty, pid, attached;
    int32_t exit_status; /* as a shell would: 0-255, 128 + signal, 124 timed out, 126 127 not started */
    uint32_t signal, timed_out;
    int64_t started_ns, ended_ns;
    uint64_t user_us, system_us, max_rss; /* resource use */
    uint64_t out_total, err_total, out_start,
        err_start; /* bytes printed ever; offset of the oldest kept byte */
    char command[WMSG_TEXT_MAX], cwd[WMSG_TEXT_MAX], user[36], label[64];
};
enum guest_file_type { FILE_NONE, FILE_REGULAR, FILE_FOLDER, FILE_LINK, FILE_OTHER };
struct guest_file {
    uint32_t type, mode, uid, gid;
    uint64_t size;
    int64_t mtime_ns;
    uint32_t name_len, target_len;
    char name[256]; /* raw bytes of one path element */
    char target[WMSG_TEXT_MAX];
};
struct guest_repo {
    char head[128], commit[72], path[WMSG_TEXT_MAX];
    uint32_t empty;
};
/* Where a package tool fetches from, as it says itself. */
struct guest_package_host {
    char preset[32], host[254]; /* lower case */
    uint32_t port, tls;
};

struct wmsg_item {
    uint32_t type, id;
    uint32_t ok;   /* RESULT: 1 done; 0: error below */
    uint32_t kind; /* enum guest_result_kind; NOTHING: none */
    char error_code[24], error_text[WMSG_TEXT_MAX], error_hint[WMSG_HINT_MAX];
    union {
        struct guest_health health;
        struct guest_session session;
        struct guest_file file;
        struct guest_repo repo;
        struct guest_package_host package_host;
    } u;
};
struct wmsg_head {
    uint32_t type, id;
    uint64_t offset;
    uint32_t status;
}; /* offset: "hutch-offset" of a session's output */
struct wmsg_alert {
    uint32_t type, port;
    char text[WMSG_TEXT_MAX];
};

#define WMSG_MAX (sizeof(struct wmsg_call) + WMSG_BODY_MAX)

#endif
