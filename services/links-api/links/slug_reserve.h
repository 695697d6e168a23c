/*
 * Pure after slug_reserve_new. Words that an operator keeps for himself beside those of slug.h: nobody may choose them as
 * a slug, in whatever case. Slugs that were issued before stay.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_RESERVE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_RESERVE_H

#include <stdbool.h>

#include "lib/base/err.h"

struct slug_reserve;

/* list: words between commas or white space. ERR_INVALID: one of them could not be a slug anyway. */
enum err slug_reserve_new(const char *list, struct slug_reserve **out) MUST_CHECK;
/* NULL is allowed. */
void slug_reserve_free(struct slug_reserve *reserve);

bool slug_reserve_has(const struct slug_reserve *reserve, const char *slug);

#endif
