/* reason.h: the fixed codes of reasons.def. */
#ifndef HUTCH_POLICY_REASON_H
#define HUTCH_POLICY_REASON_H

enum verdict_effect { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };

enum reason {
#define X(name, wire, effect, sentence, next) REASON_##name,
#include "policy/reasons.def"
#undef X
    REASON_COUNT
};

const char *verdict_effect_name(enum verdict_effect effect); /* "allow", "ask", "deny" */
/* The wire name: log, JSON, the guest. */
const char *reason_name(enum reason reason);
/* The reason of a wire name, or REASON_COUNT. */
enum reason reason_from_name(const char *name);
enum verdict_effect reason_effect(enum reason reason);
/* One sentence without a full stop for the screen. */
const char *reason_sentence(enum reason reason);
/* `next` of what the guest is told: fixed words, "" where there is nothing to do. "ID" in it stands for the
 * request's number. */
const char *reason_next(enum reason reason);

#endif
