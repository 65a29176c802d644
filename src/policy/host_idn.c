#include "policy/host_internal.h"

#include "base/alloc.h"
#include "policy/host.h"

#include <idn2.h>
#include <string.h>

#define IDN_FLAGS (IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT)

int host_idn_encode(const char *name, char **ret_ascii, struct error **err)
{
    uint8_t *ascii = NULL;
    int r = idn2_lookup_u8((const uint8_t *)name, &ascii, IDN_FLAGS);
    if (r != IDN2_OK)
        return error_set(err, ERROR_INVALID, "\"%s\" is no name of IDNA2008: %s", name, idn2_strerror(r));
    *ret_ascii = xstrdup((const char *)ascii);
    idn2_free(ascii);
    return 0;
}

/* libidn2 takes a terminated label of at most 63 bytes; beyond that there is no valid one. */
char *host_idn_decode(const char *label, size_t len)
{
    char text[HOST_LABEL_MAX + 1];
    if (len > HOST_LABEL_MAX)
        return NULL;
    memcpy(text, label, len);
    text[len] = '\0';
    char *decoded = NULL;
    if (idn2_to_unicode_8z8z(text, &decoded, 0) != IDN2_OK)
        return NULL;
    char *copy = xstrdup(decoded);
    idn2_free(decoded);
    return copy;
}

bool host_idn_label_valid(const char *label, size_t len)
{
    autofree char *decoded = host_idn_decode(label, len);
    if (!decoded || !*decoded)
        return false;
    bool foreign = false;
    for (const char *c = decoded; *c; c++)
        foreign |= (unsigned char)*c >= 0x80;
    autofree char *again = NULL;
    return foreign && host_idn_encode(decoded, &again, NULL) == 0 && strlen(again) == len &&
           !memcmp(again, label, len);
}
