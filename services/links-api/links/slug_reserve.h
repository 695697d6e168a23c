/*
 * Pure after slug_reserve_new. Slugs that an operator reserves in addition to those of slug.h. No
 * user can request them, in upper or lower case. Links that already have such a slug keep it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_RESERVE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_RESERVE_H

#include <stdbool.h>

#include "lib/base/err.h"

struct slug_reserve;

/* list: slugs separated by commas or white space. ERR_INVALID: one of them is not a valid slug. */
enum err slug_reserve_new(const char *list, struct slug_reserve **out) MUST_CHECK;
/* reserve may be NULL. */
void slug_reserve_free(struct slug_reserve *reserve);

bool slug_reserve_has(const struct slug_reserve *reserve, const char *slug);

#endif
