#include "guest/claim.h"

#include "base/alloc.h"
#include "base/log.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECENT_MAX 16
#define BATCH_MAX  512 /* questions of one pass */

struct claim_question {
    struct claims *claims;
    struct claim_question *next;
    struct claim_ends ends;
    claim_fn done; /* NULL: forgotten. The loop's alone */
    void *user;
    struct claim answer; /* the thread's until it is in `answered` */
};

struct claims {
    uv_async_t async;
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t cond;
    struct claim_question *waiting, **waiting_end; /* under the mutex, like the next two */
    struct claim_question *answered;
    bool ending;
    int netlink, loop_netlink; /* the thread's and the loop's */
    pid_t recent[RECENT_MAX];  /* the thread's */
    size_t recent_count;
};

/* ---- sock_diag ---- */

/* IPv4 in the clothes of IPv6 is IPv4. */
static void plain_address(const struct sockaddr_storage *address, int *ret_family, uint32_t ret_words[4],
                          uint16_t *ret_port)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

    memset(ret_words, 0, 4 * sizeof(uint32_t));
    *ret_family = address->ss_family;
    if (address->ss_family == AF_INET) {
        ret_words[0] = v4->sin_addr.s_addr;
        *ret_port = v4->sin_port;
        return;
    }
    *ret_port = v6->sin6_port;
    memcpy(ret_words, &v6->sin6_addr, 16);
    if (!IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        return;
    *ret_family = AF_INET;
    ret_words[0] = ret_words[3];
    ret_words[1] = ret_words[2] = ret_words[3] = 0;
}

/* Asks for the one socket with these ends. False: the kernel knows none. */
static bool ask_kernel(int netlink, const struct claim_ends *ends, struct inet_diag_msg *ret)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {.head = {.nlmsg_len = sizeof(request),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST},
                 .body = {.sdiag_protocol = IPPROTO_TCP, .idiag_states = UINT32_MAX}};
    union {
        struct nlmsghdr head;
        uint8_t bytes[4096];
    } answer;
    int family, other;

    plain_address(&ends->from, &family, request.body.id.idiag_src, &request.body.id.idiag_sport);
    plain_address(&ends->to, &other, request.body.id.idiag_dst, &request.body.id.idiag_dport);
    request.body.sdiag_family = (uint8_t)family;
    request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (family != other || netlink < 0 || send(netlink, &request, sizeof(request), 0) < 0)
        return false;
    ssize_t n = recv(netlink, &answer, sizeof(answer), 0);
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(*ret)) || answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(ret, NLMSG_DATA(&answer.head), sizeof(*ret));
    return true;
}

static int open_netlink(void)
{
    const struct timeval limit = {.tv_sec = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    else
        log_warning("no claims: cannot ask the kernel for owners of sockets: %s", strerror(errno));
    return fd;
}

bool claim_ends_local(const struct claim_ends *ends)
{
    struct sockaddr_storage copy = ends->from;
    socklen_t len = copy.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    autoclose int fd = socket(copy.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    ((struct sockaddr_in *)&copy)->sin_port = 0; /* the same place in both families */
    return fd >= 0 && bind(fd, (struct sockaddr *)&copy, len) == 0;
}

bool claims_peer_gone(struct claims *claims, const struct claim_ends *ends)
{
    struct inet_diag_msg found;

    if (ask_kernel(claims->loop_netlink, ends, &found))
        return found.idiag_inode == 0;
    return claim_ends_local(ends);
}

/* ---- the thread ---- */

static void remember(struct claims *claims, pid_t pid)
{
    size_t i = 0;

    while (i < claims->recent_count && claims->recent[i] != pid)
        i++;
    if (i == claims->recent_count && i < RECENT_MAX)
        claims->recent_count++;
    i = i < RECENT_MAX ? i : RECENT_MAX - 1;
    memmove(claims->recent + 1, claims->recent, i * sizeof(pid_t));
    claims->recent[0] = pid;
}

static void answer_all(struct claims *claims, struct claim_question *const *questions, size_t count)
{
    struct claim_owner owners[BATCH_MAX];

    for (size_t i = 0; i < count; i++) {
        struct inet_diag_msg found;
        owners[i] = (struct claim_owner){.uid = (uid_t)-1};
        if (ask_kernel(claims->netlink, &questions[i]->ends, &found) && found.idiag_inode)
            owners[i] = (struct claim_owner){.inode = found.idiag_inode, .uid = found.idiag_uid};
    }
    claim_proc_search(owners, count, claims->recent, claims->recent_count);
    for (size_t i = 0; i < count; i++) {
        claim_proc_describe(&owners[i], &questions[i]->ends, &questions[i]->answer);
        if (owners[i].pid)
            remember(claims, owners[i].pid);
    }
}

static void run(void *arg)
{
    struct claims *claims = arg;
    struct claim_question *batch[BATCH_MAX];

    uv_mutex_lock(&claims->mutex);
    for (;;) {
        size_t count = 0;
        while (!claims->waiting && !claims->ending)
            uv_cond_wait(&claims->cond, &claims->mutex);
        if (claims->ending)
            break;
        while (claims->waiting && count < BATCH_MAX) {
            batch[count++] = claims->waiting;
            claims->waiting = claims->waiting->next;
        }
        if (!claims->waiting)
            claims->waiting_end = &claims->waiting;
        uv_mutex_unlock(&claims->mutex);
        answer_all(claims, batch, count);
        uv_mutex_lock(&claims->mutex);
        while (count-- > 0) {
            batch[count]->next = claims->answered;
            claims->answered = batch[count];
        }
        uv_async_send(&claims->async);
    }
    uv_mutex_unlock(&claims->mutex);
}

/* ---- the loop ---- */

static void free_list(struct claim_question *list)
{
    while (list) {
        struct claim_question *next = list->next;
        free(list);
        list = next;
    }
}

static void on_async(uv_async_t *async)
{
    struct claims *claims = async->data;

    uv_mutex_lock(&claims->mutex);
    struct claim_question *list = claims->answered;
    claims->answered = NULL;
    uv_mutex_unlock(&claims->mutex);
    for (struct claim_question *q = list; q; q = q->next) {
        claim_fn done = q->done;
        q->done = NULL;
        if (done)
            done(&q->answer, q->user);
    }
    free_list(list);
}

struct claims *claims_create(uv_loop_t *loop)
{
    struct claims *claims = xnew(struct claims);

    claims->waiting_end = &claims->waiting;
    claims->netlink = open_netlink();
    claims->loop_netlink = open_netlink();
    require(uv_mutex_init(&claims->mutex) == 0 && uv_cond_init(&claims->cond) == 0);
    require(uv_async_init(loop, &claims->async, on_async) == 0);
    claims->async.data = claims;
    require(uv_thread_create(&claims->thread, run, claims) == 0);
    return claims;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void claims_destroy(struct claims *claims)
{
    if (!claims)
        return;
    uv_mutex_lock(&claims->mutex);
    claims->ending = true;
    uv_cond_signal(&claims->cond);
    uv_mutex_unlock(&claims->mutex);
    uv_thread_join(&claims->thread);
    free_list(claims->waiting);
    free_list(claims->answered);
    cleanup_close(&claims->netlink);
    cleanup_close(&claims->loop_netlink);
    uv_cond_destroy(&claims->cond);
    uv_mutex_destroy(&claims->mutex);
    uv_close((uv_handle_t *)&claims->async, on_closed);
}

struct claim_question *claims_ask(struct claims *claims, const struct claim_ends *ends, claim_fn done,
                                  void *user)
{
    struct claim_question *question = xnew(struct claim_question);

    question->ends = *ends;
    question->done = done;
    question->user = user;
    uv_mutex_lock(&claims->mutex);
    *claims->waiting_end = question;
    claims->waiting_end = &question->next;
    uv_cond_signal(&claims->cond);
    uv_mutex_unlock(&claims->mutex);
    return question;
}

void claims_forget(struct claim_question *question)
{
    if (question)
        question->done = NULL;
}
