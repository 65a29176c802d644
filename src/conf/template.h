/* template.h: a template: which distribution, and how its image is made. Read from NAME.ini in the user's
 * templates folder first, then in the ones that came with hutch. hutch-template.5 is its reference. */
#ifndef HUTCH_CONF_TEMPLATE_H
#define HUTCH_CONF_TEMPLATE_H

#include "base/error.h"
#include "base/paths.h"

#include <stdbool.h>
#include <stdint.h>

/* One [setup NAME]: a shell script that root runs in the image, in the order of the file. */
struct template_setup {
    char *name;
    char *script; /* its lines, each ended by a newline */
};

struct template
{
    char *name, *path, *about;
    char *distribution;    /* "debian" */
    char *suite;           /* "trixie" */
    char *mirror;          /* NULL: that of the host's own apt configuration */
    char *security_mirror; /* NULL: the same; "none": no security updates */
    char *architecture;    /* "amd64" */
    char **packages;       /* NULL-ended */
    char *kernel_package;  /* held */
    struct template_setup *setup;
    size_t setup_count;
    char *user;           /* "agent" */
    uint64_t disk_min;    /* smallest vm.disk and size of the base, bytes */
    char *cpu_model;      /* or NULL */
    char *kernel_options; /* or NULL */
    char **presets;       /* of the rules of its projects, NULL-ended */
    char *recipe;         /* text of the script that makes the distribution an image: templates/DISTRIBUTION.sh */
    char digest[65]; /* SHA-256 of all that decides the image's contents, the recipe's text too: the base's
                        address */
    bool user_file;  /* from the user's folder */
};

/* Reads and checks a template. ERROR_NOT_FOUND offers the nearest names, ERROR_INVALID says file, line and
 * column. */
int template_load(const struct paths *paths, const char *name, struct template **ret_template,
                  struct error **err);
void template_free(struct template *template);
AUTO_DEFINE(template, struct template *, template_free);
/* NULL-ended list of names, sorted, each once. names_free frees. */
char **template_names(const struct paths *paths);

#endif
