#include "guest/wait.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/units.h"
#include "guest/host_ask.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_MS  2000
#define SHOWN_MAX 400

static void print(FILE *file, const char *verdict, const char *reason)
{
    struct text safe;

    text_init(&safe, reason, strlen(reason), SHOWN_MAX, TEXT_DEFAULT);
    fprintf(file, "%s%s%s\n", verdict, safe.len ? ": " : "", safe.bytes);
    text_finish(&safe);
}

/* What an answer means as an exit status; -1: ask again. */
static int judge(int status, const json_t *body)
{
    const char *verdict = host_ask_word(body, "verdict", "");

    if (status == 200 && !strcmp(verdict, "allow")) {
        print(stdout, "allow", host_ask_word(body, "reason", ""));
        return 0;
    }
    if (status == 200 && !strcmp(verdict, "deny")) {
        print(stdout, "deny", host_ask_word(body, "reason", ""));
        return WAIT_EXIT_DENIED;
    }
    if (status == 200 && !strcmp(verdict, "gone")) {
        print(stdout, "gone", host_ask_word(body, "reason", ""));
        return WAIT_EXIT_GONE;
    }
    if (status == 200 || status == 503 || status == 502 || status == 0)
        return -1; /* not answered yet, or the host went away meanwhile */
    print(stderr, "hutch-guest",
          host_ask_word(body, "next", host_ask_word(body, "reason", "the host cannot say")));
    return 1;
}

int wait_main(int argc, char **argv)
{
    uint64_t number;

    if (argc != 2 || units_parse_number(argv[1], 1, INT64_MAX, &number, NULL)) {
        fprintf(stderr, "usage: hutch-guest wait N (the number of a request, as a refusal names it)\n");
        return 2;
    }
    autofree char *name = xasprintf("%llu.request.hutch.internal", (unsigned long long)number);
    for (;;) {
        auto(error) struct error *err = NULL;
        auto(json) json_t *body = NULL;
        int status;
        if (host_ask(name, 0, &status, &body, &err)) {
            fprintf(stderr, "hutch-guest: %s\n", err->message);
            return 1;
        }
        int result = judge(status, body);
        if (result >= 0)
            return result;
        usleep(AGAIN_MS * 1000);
    }
}
