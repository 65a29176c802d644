/* rule_internal.h: what the parts of rule.h have of each other. */
#ifndef HUTCH_POLICY_RULE_INTERNAL_H
#define HUTCH_POLICY_RULE_INTERNAL_H

#include "policy/request.h"
#include "policy/rule.h"

/* Fills text and id of a rule whose other fields are final. */
void rule_print(struct rule *rule);

#endif
