#include "policy/reason.h"

#include "base/alloc.h"

#include <string.h>

static const struct {
    const char *wire;
    enum verdict_effect effect;
    const char *sentence, *next;
} reasons[] = {
#define X(name, wire, effect, sentence, next) {wire, VERDICT_##effect, sentence, next},
#include "policy/reasons.def"
#undef X
};

const char *verdict_effect_name(enum verdict_effect effect)
{
    static const char *const names[] = {"allow", "ask", "deny"};
    return names[effect];
}

const char *reason_name(enum reason reason)
{
    require(reason < REASON_COUNT);
    return reasons[reason].wire;
}

enum reason reason_from_name(const char *name)
{
    enum reason reason = 0;
    while (reason < REASON_COUNT && strcmp(reasons[reason].wire, name) != 0)
        reason++;
    return reason;
}

enum verdict_effect reason_effect(enum reason reason)
{
    require(reason < REASON_COUNT);
    return reasons[reason].effect;
}

const char *reason_sentence(enum reason reason)
{
    require(reason < REASON_COUNT);
    return reasons[reason].sentence;
}

const char *reason_next(enum reason reason)
{
    require(reason < REASON_COUNT);
    return reasons[reason].next;
}
