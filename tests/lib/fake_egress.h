/* fake_egress.h: hutch's side of the egress port for tests: a process that answers CONNECT by the host's
 * name.
 *
 *   echo.test      200, what comes goes back, an end too
 *   claim.test     200, the two fields "ENTRANCE\nCLAIM" and the end
 *   first.test     200, "hello\n" and the end, whatever comes
 *   sink.test      200, takes everything, then "COUNT" and the end
 *   flood.test     200, FAKE_FLOOD bytes and the end
 *   stuck.test     200, takes nothing
 *   reset.test     200, then a reset at the first byte
 *   deny.test 403, bad.test 502, busy.test 503, form.test 400: with JSON
 *   mute.test      a reset instead of an answer
 *   hold.test      no answer
 *   gone.test      "held=N withdrawn=N" as in first.test: what hold.test has seen
 *   N.request.hutch.internal   200 and JSON: 1 allow, 2 deny, 3 gone, else waiting */
#ifndef HUTCH_TESTS_FAKE_EGRESS_H
#define HUTCH_TESTS_FAKE_EGRESS_H

#include <sys/types.h>

#define FAKE_FLOOD (8 * 1024 * 1024)

/* Connects to FOLDER/egress.sock; waits until the agent listens there. The process ends with the connection,
 * or with the caller's. */
pid_t fake_egress_start(const char *folder);
/* kill -9: the host goes without a word. */
void fake_egress_kill(pid_t pid);

#endif
