/* The digest that binds an answer to what was shown. */
#include "policy/grant.h"

#include "base/alloc.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* "name LENGTH:value", so that no two different requests have the same bytes. */
static void add(EVP_MD_CTX *context, const char *name, const char *value)
{
    char head[64];
    size_t len = value ? strlen(value) : 0;
    int used = snprintf(head, sizeof(head), "%s %zu:", name, len);
    require(EVP_DigestUpdate(context, head, (size_t)used) && EVP_DigestUpdate(context, value, len));
}

static void add_number(EVP_MD_CTX *context, const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    add(context, name, text);
}

void grant_digest(const struct request *request, const char *reason, uint64_t generation, const char *shown,
                  char ret[GRANT_DIGEST_MAX])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    require(context && EVP_DigestInit_ex(context, EVP_sha256(), NULL));
    add(context, "hutch-request", "1");
    add_number(context, "kind", request->host.kind);
    add(context, "host", request->host.text);
    add_number(context, "port", request->port);
    add(context, "proto", proto_name(request->proto));
    add(context, "method", request->method);
    add(context, "path", request->path);
    add(context, "project", request->project);
    add(context, "session", request->session);
    add(context, "command", request->command);
    add(context, "reason", reason);
    add_number(context, "generation", generation);
    add(context, "shown", shown);
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    require(EVP_DigestFinal_ex(context, hash, &len) && len == 32);
    EVP_MD_CTX_free(context);
    for (unsigned i = 0; i < len; i++)
        snprintf(ret + (size_t)2 * i, 3, "%02x", hash[i]);
}

bool grant_digest_equal(const char *a, const char *b)
{
    unsigned char difference = 0;
    if (strnlen(a, GRANT_DIGEST_MAX) != GRANT_DIGEST_MAX - 1 ||
        strnlen(b, GRANT_DIGEST_MAX) != GRANT_DIGEST_MAX - 1)
        return false;
    for (size_t i = 0; i < GRANT_DIGEST_MAX - 1; i++)
        difference |= (unsigned char)(a[i] ^ b[i]);
    return !difference;
}
