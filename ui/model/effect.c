#include "ui/model/effect.h"

#include "base/alloc.h"

struct effect *effects_add(struct effects *effects, enum effect_type type)
{
    struct effect *effect = xnew(struct effect);
    effect->type = type;
    buf_init(&effect->bytes, 0);
    if (effects->last)
        effects->last->next = effect;
    else
        effects->first = effect;
    effects->last = effect;
    return effect;
}

struct effect *effects_add_text(struct effects *effects, enum effect_type type, const char *text,
                                int64_t number)
{
    struct effect *effect = effects_add(effects, type);
    effect->text = xstrdup(text);
    effect->number = number;
    return effect;
}

struct effect *effects_take(struct effects *effects)
{
    struct effect *effect = effects->first;
    if (!effect)
        return NULL;
    effects->first = effect->next;
    if (!effects->first)
        effects->last = NULL;
    effect->next = NULL;
    return effect;
}

void effect_free(struct effect *effect)
{
    if (!effect)
        return;
    free(effect->method);
    free(effect->path);
    free(effect->text);
    json_decref(effect->body);
    buf_finish(&effect->bytes);
    free(effect);
}

void effects_finish(struct effects *effects)
{
    for (struct effect *effect; (effect = effects_take(effects));)
        effect_free(effect);
}
