#include "approval/request.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/units.h"

#include <openssl/evp.h>
#include <string.h>

static const char *const state_words[] = {
#define X(name, word) word,
    APPROVAL_STATES(X)
#undef X
};
static const char *const scope_words[] = {
#define X(name, word) word,
    APPROVAL_SCOPES(X)
#undef X
};
static const char *const tier_words[] = {"routine", "unusual", "critical"};

static int find(const char *const *words, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(words[i], word))
            return (int)i;
    return -1;
}

const char *approval_state_name(enum approval_state state)
{
    return state_words[state];
}

const char *approval_tier_name(enum approval_tier tier)
{
    return tier_words[tier];
}

const char *approval_scope_name(enum approval_scope scope)
{
    return scope_words[scope];
}

int approval_state_read(const char *word)
{
    return find(state_words, countof(state_words), word);
}

int approval_tier_read(const char *word)
{
    return find(tier_words, countof(tier_words), word);
}

int approval_scope_read(const char *word)
{
    return find(scope_words, countof(scope_words), word);
}

/* Each part with its length, so that no two acts have one text. */
static void add(EVP_MD_CTX *context, const char *text)
{
    uint32_t len = (uint32_t)strlen(text);
    uint8_t size[4] = {(uint8_t)(len >> 24), (uint8_t)(len >> 16), (uint8_t)(len >> 8), (uint8_t)len};

    require(EVP_DigestUpdate(context, size, sizeof(size)) == 1);
    require(EVP_DigestUpdate(context, text, len) == 1);
}

void request_bind(struct approval_request *request)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    autofree char *generation = xasprintf("%lld", (long long)request->generation);
    autofree char *nonce = units_random_hex((APPROVAL_NONCE_SIZE - 1) / 2);
    uint8_t sum[32];

    require(context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1);
    add(context, "hutch request 1");
    add(context, request->project);
    add(context, request->boot);
    add(context, request->session);
    add(context, request->verb);
    add(context, request->key);
    add(context, request->subject);
    add(context, request->fields);
    add(context, generation);
    require(EVP_DigestFinal_ex(context, sum, NULL) == 1);
    EVP_MD_CTX_free(context);
    for (size_t i = 0; i < sizeof(sum); i++) {
        request->digest[2 * i] = "0123456789abcdef"[sum[i] >> 4];
        request->digest[2 * i + 1] = "0123456789abcdef"[sum[i] & 15];
    }
    request->digest[64] = '\0';
    memcpy(request->nonce, nonce, APPROVAL_NONCE_SIZE);
}

void request_text(char **to, const char *from)
{
    char *copy = xstrdup(from ? from : "");

    free(*to);
    *to = copy;
}

void request_copy(struct approval_request *to, const struct approval_request *from)
{
    *to = *from;
    to->project = to->boot = to->session = to->verb = to->key = to->subject = to->fields = to->owner = NULL;
    to->reason = to->by = NULL;
    request_text(&to->project, from->project);
    request_text(&to->boot, from->boot);
    request_text(&to->session, from->session);
    request_text(&to->verb, from->verb);
    request_text(&to->key, from->key);
    request_text(&to->subject, from->subject);
    request_text(&to->fields, from->fields);
    request_text(&to->owner, from->owner);
    request_text(&to->reason, from->reason);
    request_text(&to->by, from->by);
}

void request_finish(struct approval_request *request)
{
    char **texts[] = {&request->project, &request->boot,   &request->session, &request->verb,   &request->key,
                      &request->subject, &request->fields, &request->owner,   &request->reason, &request->by};

    for (size_t i = 0; i < countof(texts); i++)
        free(*texts[i]);
}
