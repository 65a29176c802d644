#include "guest/checkpoint.h"

#include "guest/host_ask.h"
#include "wire/json.h"

#include <stdio.h>

#define HOST    "all.turn.hutch.internal"
#define LIMIT_S 10

int checkpoint_main(int argc, char **argv)
{
    auto(error) struct error *err = NULL;
    auto(json) json_t *body = NULL;
    int status = 0;

    (void)argv;
    if (argc != 1) {
        fprintf(stderr,
                "usage: hutch-guest checkpoint (at the end of an agent's turn: its work comes out)\n");
        return 2;
    }
    if (host_ask(HOST, LIMIT_S, &status, &body, &err))
        fprintf(stderr, "hutch-guest: %s\n", err->message);
    else if (status != 200)
        fprintf(stderr, "hutch-guest: the host does not answer (%d)\n", status);
    return err || status != 200;
}
