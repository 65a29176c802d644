/* doctor.h: what hutchd finds when it looks at this host. */
#ifndef HUTCH_UI_DOCTOR_H
#define HUTCH_UI_DOCTOR_H

#include "ui/grid/grid.h"

#define FINDINGS_MAX 400

/* A row: a finding, or the way to mend the one above (state and check are "" then). */
struct finding {
    const char *state; /* "ok", "WARN", "FAIL" */
    char *check, *text;
    enum style style;
};
/* Zeroed it is empty. */
struct doctor {
    struct finding *list;
    size_t count;
    uint64_t call; /* that is out, 0: none */
    char *failure;
};

void doctor_finish(struct doctor *doctor);

#endif
