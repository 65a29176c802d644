/* rules.h: the policy of a project out of its files: presets, the user's rules, the project's, in this order
 * of layers. All of them are read and checked before anything takes effect. */
#ifndef HUTCH_DAEMON_RULES_H
#define HUTCH_DAEMON_RULES_H

#include "base/error.h"
#include "base/paths.h"
#include "conf/package_hosts.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_GUEST_MAX 64 /* hosts that a machine's own configuration may name, for each preset */

/* A host of the machine's own configuration, for a preset with "from = guest". */
struct rules_guest_host {
    struct package_host host; /* what is no exact name is passed over */
    bool from_base; /* found when the base was built. What a running machine says can be anything: it is
                       asked */
};

struct rules_input {
    const char *project; /* name: projects/NAME.ini */
    const char *const
        *presets; /* of the template and its kits, if the project names none; NULL-ended or NULL */
    const struct rules_guest_host *guest_hosts;
    size_t guest_host_count;
    const char *const *secret_hosts; /* NULL-ended or NULL */
    uint64_t generation;             /* of the policy that is made */
};

/* Reads and compiles. ERROR_NOT_FOUND: the project has no file (rules_write makes one). Any error: nothing is
 * taken; whoever has an older policy keeps it, whoever has none denies everything (policy_decide of NULL). A
 * missing rules.ini is no error. */
int rules_load(const struct paths *paths, const struct rules_input *input, struct policy **ret_policy,
               struct error **err);
/* The first file of a new project: mode, and presets if there are any. ERROR_EXISTS if there is one. */
int rules_write(const struct paths *paths, const char *project, enum policy_mode mode,
                const char *const *presets, struct error **err);
/* Takes the file of a project that goes away, if it is as rules_write made it. *ret_kept: its path if it stays,
 * since a person wrote in it, else NULL; the caller frees. */
int rules_forget(const struct paths *paths, const char *project, char **ret_kept, struct error **err);
/* Adds a rule ("allow docs.rs") to a project's file, or to rules.ini of all projects (project NULL), in its
 * canonical form. ERROR_INVALID says what is wrong with it; ERROR_EXISTS. */
int rules_add(const struct paths *paths, const char *project, const char *text, struct error **err);
/* Takes out the rule whose canonical form is that of text. ERROR_NOT_FOUND. */
int rules_remove(const struct paths *paths, const char *project, const char *text, struct error **err);
/* Host ports of a project's file: conf/egress.h says what is checked. Sockets of hutch itself are refused,
 * here and by rules_load: what holds them rules every machine. */
int rules_host_port_check(const struct paths *paths, const char *name, const char *to, uint16_t *port,
                          struct error **err);
int rules_host_port_add(const struct paths *paths, const char *project, const char *name, const char *to,
                        uint16_t port, struct error **err);
int rules_host_port_remove(const struct paths *paths, const char *project, const char *name,
                           struct error **err);
/* Path of a project's file, or of rules.ini; the caller frees. */
char *rules_path(const struct paths *paths, const char *project);

#endif
