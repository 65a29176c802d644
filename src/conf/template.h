/* template.h: a template: which distribution, and how its image is made. Read from NAME.ini in the user's templates folder first, then
 * in the ones that came with hutch. hutch-template.5 is its reference. */
#ifndef HUTCH_CONF_TEMPLATE_H
#define HUTCH_CONF_TEMPLATE_H

#include "base/error.h"
#include "base/paths.h"

#include <stdbool.h>
#include <stdint.h>

struct template {
    char *name, *path, *about;
    char *distribution;  /* "debian" */
    char *suite;         /* "trixie" */
    char *mirror;        /* NULL: that of the host's own apt configuration */
    char *architecture;  /* "amd64" */
    char **packages;     /* NULL-ended */
    char *kernel_package; /* held */
    char **setup;        /* shell lines run in the image as root, in order */
    char *user;          /* "agent" */
    uint64_t disk_min;   /* smallest vm.disk, bytes */
    char *cpu_model;     /* or NULL */
    char *kernel_options; /* or NULL */
    char digest[65];     /* SHA-256 of all that decides the image's contents: the base's address */
    bool user_file;      /* from the user's folder */
};
/* ERROR_NOT_FOUND offers the nearest names. */
int template_load(const struct paths *paths, const char *name, struct template **ret_template, struct error **err);
void template_free(struct template *template);
AUTO_DEFINE(template, struct template *, template_free);
/* NULL-ended list of names, sorted; json_free_strings-like: free each and the array. */
char **template_names(const struct paths *paths);

#endif
