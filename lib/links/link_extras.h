/*
 * Extras: what a link has beyond a plain one, a waymark.v1.LinkExtras. protobuf-c's struct is the
 * form in memory. What was opened and what link_extras_check accepts keeps every bound below, so
 * readers need no checks of their own. Pure.
 *
 *   struct Waymark__V1__LinkExtras *extras = link_extras_open(entry->extras, entry->extras_len);
 *   if (!extras)
 *           return ERR_INVALID;
 *   ...
 *   link_extras_free(extras);
 */
#ifndef WAYMARK_LIB_LINKS_LINK_EXTRAS_H
#define WAYMARK_LIB_LINKS_LINK_EXTRAS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "waymark/v1/link_extras.pb-c.h"

#define LINK_RULES_MAX 20
#define LINK_RULE_CONDITIONS_MAX 20
#define LINK_CONDITION_VALUES_MAX 50
/* Of a value, and of the name of a query parameter; also of a host. */
#define LINK_CONDITION_VALUE_CHARS_MAX 253
#define LINK_VARIANTS_MIN 2
#define LINK_VARIANTS_MAX 5
#define LINK_VARIANT_WEIGHT_MAX 1000
/* Of a rule or a variant. Names are unique among the rules and among the variants of a link. */
#define LINK_NAME_CHARS_MAX 50
#define LINK_NAME_SIZE (LINK_NAME_CHARS_MAX * 4 + 1)
#define LINK_MAX_VISITS_MAX INT64_C(1000000000)
/* Of bcrypt: a hash takes about 50 ms. */
#define LINK_PASSWORD_COST 10
/* "$2b$10$" and 53 more. */
#define LINK_PASSWORD_HASH_LENGTH 60
#define LINK_PREVIEW_TITLE_CHARS_MAX 200
#define LINK_PREVIEW_DESCRIPTION_CHARS_MAX 500
#define LINK_ZONES_MAX LINK_RULES_MAX
#define LINK_ZONE_NAME_CHARS_MAX 50
/* Of 15 years. Morocco has the most: two around each Ramadan. */
#define LINK_ZONE_TRANSITIONS_MAX 40
#define LINK_MINUTES_OF_DAY 1440
/* All seven days of a condition. */
#define LINK_DAYS_ALL 127u

/* links.features: what a link has. */
enum link_feature {
	LINK_FEATURE_RULES = 1,
	LINK_FEATURE_SPLIT = 2,
	LINK_FEATURE_LIMIT = 4,
	LINK_FEATURE_PASSWORD = 8,
	LINK_FEATURE_FORWARD = 16,
	LINK_FEATURE_PREVIEW = 32,
};

/* With any of these a link does not answer each visitor alike, so no cache may keep its answer. */
#define LINK_FEATURES_NOT_CACHED                                                                   \
	(LINK_FEATURE_RULES | LINK_FEATURE_SPLIT | LINK_FEATURE_LIMIT | LINK_FEATURE_PASSWORD |    \
	 LINK_FEATURE_FORWARD)

/*
 * Reads encoded extras with one allocation for all but the largest; bytes are copied. NULL: no
 * LinkExtras, or one that link_extras_check refuses. Release it with link_extras_free; what is
 * borrowed from it ends then.
 */
struct Waymark__V1__LinkExtras *link_extras_open(const void *bytes, size_t len) MUST_CHECK;
/* NULL is allowed. */
void link_extras_free(struct Waymark__V1__LinkExtras *extras);

/*
 * Whether all bounds hold:
 * - counts, lengths and numbers as above; texts are UTF-8 without control characters
 * - URLs are of 1 to LINK_URL_MAX printable ASCII characters; what may stand in them is for
 *   links-api to decide
 * - a rule has a url if it redirects, and only then; a fallback_url only beside a url
 * - the winner is the name of a variant, or empty
 * - QUERY has a parameter, and any values, which may be empty; PERIOD has a from or a later until;
 *   WEEK has minutes of a day, and 0 or the number of a zone; all others have at least one value
 * - a zone has at least one offset, and as many as times, which ascend
 * ERR_INVALID: *problem, if not NULL, is a literal that names the first wrong thing for a log
 * ("rule: name"). links-api answers wrong requests before, with a pointer for each.
 */
enum err link_extras_check(const struct Waymark__V1__LinkExtras *extras,
                           const char **problem) MUST_CHECK;

/* The features, as bits of enum link_feature; 0: a plain link, whose extras need not be stored. */
unsigned link_extras_features(const struct Waymark__V1__LinkExtras *extras);

/* Writes checked extras. ERR_LIMIT: they take more than LINK_EXTRAS_BYTES_MAX. */
enum err link_extras_pack(const struct Waymark__V1__LinkExtras *extras,
                          uint8_t out[static LINK_EXTRAS_BYTES_MAX], size_t *len) MUST_CHECK;

#endif
