#include "ui/model/word_diff.h"

#include "base/alloc.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WORDS_MAX 200 /* of a line that are compared; the rest is one word */

struct words {
    size_t start[WORDS_MAX + 1];
    size_t count;
    const char *text;
};

/* Letters, digits and what is no ASCII go together, and blanks; all else stands alone. */
static int kind_of(unsigned char c)
{
    return c >= 0x80 || isalnum(c) || c == '_' ? 1 : c == ' ' ? 2 : 0;
}

static void split(const char *text, struct words *words)
{
    size_t len = strlen(text), at = 0;
    words->text = text;
    words->count = 0;
    while (at < len && words->count < WORDS_MAX) {
        int kind = kind_of((unsigned char)text[at]);
        words->start[words->count++] = at++;
        while (at < len && kind && kind_of((unsigned char)text[at]) == kind)
            at++;
    }
    words->start[words->count] = len;
}

static bool same(const struct words *a, size_t i, const struct words *b, size_t j)
{
    size_t len = a->start[i + 1] - a->start[i];
    return len == b->start[j + 1] - b->start[j] && !memcmp(a->text + a->start[i], b->text + b->start[j], len);
}

/* Marks the words that both have, in their order: the longest such row. */
static void mark_common(const struct words *a, const struct words *b, bool *in_a, bool *in_b)
{
    size_t wide = b->count + 1;
    autofree uint16_t *best = xnewn(uint16_t, (a->count + 1) * wide);
    for (size_t i = a->count; i-- > 0;)
        for (size_t j = b->count; j-- > 0;) {
            uint16_t down = best[(i + 1) * wide + j], right = best[i * wide + j + 1];
            best[i * wide + j] = same(a, i, b, j) ? (uint16_t)(best[(i + 1) * wide + j + 1] + 1)
                                 : down > right   ? down
                                                  : right;
        }
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        if (same(a, i, b, j))
            in_a[i++] = in_b[j++] = true;
        else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1])
            i++;
        else
            j++;
    }
}

/* The words that are not marked, those beside each other together. */
static size_t gather(const struct words *words, const bool *common, struct word_span *spans)
{
    size_t count = 0;
    for (size_t i = 0; i < words->count; i++) {
        if (common[i])
            continue;
        bool goes_on = count && (spans[count - 1].end == words->start[i] || count == WORD_SPANS);
        if (!goes_on)
            spans[count++].start = words->start[i];
        spans[count - 1].end = words->start[i + 1];
    }
    return count;
}

/* Bytes that are no blanks of the words that are marked. */
static size_t weigh(const struct words *words, const bool *common)
{
    size_t sum = 0;
    for (size_t i = 0; i < words->count; i++)
        if (common[i] && words->text[words->start[i]] != ' ')
            sum += words->start[i + 1] - words->start[i];
    return sum;
}

void word_diff(const char *old, const char *new, struct word_diff *ret)
{
    struct words a, b;
    bool in_a[WORDS_MAX] = {false}, in_b[WORDS_MAX] = {false};
    ret->old_count = ret->new_count = 0;
    split(old, &a);
    split(new, &b);
    mark_common(&a, &b, in_a, in_b);
    size_t longer = strlen(old) > strlen(new) ? strlen(old) : strlen(new);
    if (weigh(&a, in_a) * 4 < longer)
        return;
    ret->old_count = gather(&a, in_a, ret->old);
    ret->new_count = gather(&b, in_b, ret->new);
}
