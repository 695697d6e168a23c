/*
 * Pure after reserved_slugs_new. Slugs that an operator reserves in addition to those of slug.h. No
 * user can request them, in upper or lower case. Links that already have such a slug keep it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_RESERVED_SLUGS_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_RESERVED_SLUGS_H

#include <stdbool.h>

#include "lib/base/err.h"

struct reserved_slugs;

/* list: slugs separated by commas or white space. ERR_INVALID: one of them is not a valid slug. */
enum err reserved_slugs_new(const char *list, struct reserved_slugs **out) MUST_CHECK;
/* reserve may be NULL. */
void reserved_slugs_free(struct reserved_slugs *reserve);

bool reserved_slugs_contain(const struct reserved_slugs *reserve, const char *slug);

#endif
