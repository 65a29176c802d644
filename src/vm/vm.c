#include "vm/vm.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void vm_free_chain(char **chain)
{
    for (char **p = chain; p && *p; p++)
        free(*p);
    free(chain);
}

/* The same file under two names counts as the same; a missing one is compared as it is written. */
static bool same_file(const char *a, const char *b)
{
    autofree char *real_a = realpath(a, NULL);
    autofree char *real_b = realpath(b, NULL);
    return strcmp(real_a ? real_a : a, real_b ? real_b : b) == 0;
}

int vm_check_chain(struct vm_host *host, const char *uuid, const char *const *expected, struct error **err)
{
    char **chain = NULL;
    int rc = host->ops->chain(host, uuid, &chain, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0;; i++) {
        if (!chain[i] && !expected[i])
            break;
        if (!chain[i] || !expected[i] || !same_file(chain[i], expected[i])) {
            rc = error_set(err, ERROR_CORRUPT, "layer %zu of the running disk is \"%s\", not \"%s\"", i,
                           chain[i] ? chain[i] : "nothing", expected[i] ? expected[i] : "nothing");
            error_hint(err, "the machine must not run on it: stop it, then start it again");
            break;
        }
    }
    vm_free_chain(chain);
    return rc;
}

const char *vm_state_name(enum vm_state state)
{
    static const char *const names[] = {
        [VM_ABSENT] = "absent", [VM_OFF] = "off",         [VM_RUNNING] = "running",
        [VM_PAUSED] = "paused", [VM_CRASHED] = "crashed", [VM_STOPPING] = "stopping",
    };
    require((size_t)state < countof(names));
    return names[state];
}
