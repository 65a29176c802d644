/* hutch-resolver: looks names up, one at a time, for hutchd, which kills it when that takes too long. Without
 * rights that it does not need; it ends with its channel.
 *
 * For tests HUTCH_RESOLVER_TABLE=FILE answers in place of getaddrinfo, so that no test leaves the host: lines
 * of "NAME ADDRESS…", "NAME hang", "NAME fail"; a name that is not there does not exist. Each question is
 * appended to FILE.log. */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/log.h"
#include "egress/resolver_proto.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define TABLE_MAX (1 << 20)

static void add(struct resolver_reply *reply, const struct address *address)
{
    for (uint32_t i = 0; i < reply->count; i++) {
        if (address_equal(&reply->addresses[i], address))
            return;
    }
    if (reply->count < RESOLVER_ADDRESSES_MAX)
        reply->addresses[reply->count++] = *address;
}

static void look_up(const char *name, struct resolver_reply *reply)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;

    reply->rc = getaddrinfo(name, NULL, &hints, &list);
    if (reply->rc)
        return;
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        struct address address;

        if (at->ai_family != AF_INET && at->ai_family != AF_INET6)
            continue;
        address_from_sockaddr(at->ai_addr, &address, NULL);
        add(reply, &address);
    }
    freeaddrinfo(list);
}

/* ---- the tests' table ---- */

static void note_question(const char *table, const char *name)
{
    autofree char *path = xasprintf("%s.log", table);
    autofree char *line = xasprintf("%s\n", name);
    autoclose int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    if (fd >= 0)
        fd_write_all(fd, line, strlen(line), NULL);
}

/* The words behind the name of a line. */
static void answer_line(char *words, struct resolver_reply *reply)
{
    char *next = words;

    reply->rc = 0;
    for (char *word; (word = strsep(&next, " ")) != NULL;) {
        struct address address;

        if (!strcmp(word, "hang"))
            pause();
        else if (!strcmp(word, "fail"))
            reply->rc = EAI_AGAIN;
        else if (*word && address_parse(word, strlen(word), &address, NULL) == 0)
            add(reply, &address);
    }
}

static void answer_from_table(const char *table, const char *name, struct resolver_reply *reply)
{
    autofree char *text = NULL;
    size_t len, name_len = strlen(name);

    note_question(table, name);
    reply->rc = EAI_NONAME;
    if (file_read(table, TABLE_MAX, &text, &len, NULL) < 0)
        return;
    char *next = text;
    for (char *line; (line = strsep(&next, "\n")) != NULL;) {
        if (!strncmp(line, name, name_len) && line[name_len] == ' ') {
            answer_line(line + name_len + 1, reply);
            return;
        }
    }
}

/* ---- the program ---- */

static int give_up_rights(struct error **err)
{
    const struct rlimit none = {0, 0};

    /* Also when a lookup hangs while hutchd dies. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        setrlimit(RLIMIT_CORE, &none) < 0)
        return error_set_errno(err, errno, "cannot give up rights");
    return 0;
}

static int serve(struct error **err)
{
    const char *table = getenv("HUTCH_RESOLVER_TABLE");

    for (;;) {
        struct resolver_question question;
        struct resolver_reply reply = {0};
        size_t len, fds;
        int rc = fd_receive(RESOLVER_FD, &question, sizeof(question), &len, NULL, 0, &fds, err);

        if (rc < 0)
            return err && *err && (*err)->code == ERROR_IO && !(*err)->sys ? 0 : rc;
        if (len != sizeof(question) || !memchr(question.name, '\0', sizeof(question.name)))
            return error_set(err, ERROR_PROTOCOL, "a question of %zu bytes", len);
        reply.id = question.id;
        if (table)
            answer_from_table(table, question.name, &reply);
        else
            look_up(question.name, &reply);
        rc = fd_send(RESOLVER_FD, &reply, sizeof(reply), NULL, 0, err);
        if (rc < 0)
            return rc;
    }
}

int main(void)
{
    auto(error) struct error *err = NULL;

    log_init("hutch-resolver");
    /* Only the very name: one that does not exist must not become NAME.corp.example by a search list. */
    setenv("LOCALDOMAIN", "", 1);
    if (give_up_rights(&err) == 0 && serve(&err) == 0)
        return 0;
    if (err->code != ERROR_IO)
        log_error("%s", err->message);
    return 1;
}
