/*
 * One thread at a time. Derives every fact about a click: place, browser, device, bot, referrer,
 * language and campaign. A new fact needs one line here, a file of its own and a column.
 *
 * The files GEOIP_DB and UA_REGEXES are read at start and reloaded when they change (file_watch.h),
 * while clicks are enriched. What was derived from networks, referrers and languages is cached, in
 * at most 7 MB.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_ENRICH_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_ENRICH_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/facts/visit.h"

struct enrich;

/* Borrowed, including the texts. */
struct enrich_config {
	/* "" = none. */
	const char *geoip_db;
	/* "" = those of the build. */
	const char *ua_regexes;
	size_t user_agent_cache;
	/* Interval between checks for changes. */
	int64_t check_ms;
	/* Use the database of this one, which reloads and closes it, not a copy; or NULL. */
	const struct enrich *share_geoip_with;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

/* ERR_NOT_FOUND, ERR_INVALID: a file cannot be used (logged). */
enum err enrich_open(const struct enrich_config *config, struct enrich **out) MUST_CHECK;
/* NULL is allowed. */
void enrich_close(struct enrich *enrich);

/* Fills out but is_unique, workspace_id and tags, which the store finds. disposition: VISIT_NEW. */
void enrich_click(struct enrich *enrich, const struct redirect_event *click, struct visit *out);

/*
 * Writes the visitor's preferred language: the primary subtag of the language range with the highest
 * weight in Accept-Language (RFC 9110, section 12.5.4), in lower case: "de" for "de-AT,en;q=0.9". Of
 * equal weights the first one wins. "" when no range names a language ("*", q=0, malformed). size:
 * at least 9.
 */
void enrich_language(const char *accept_language, char *out, size_t size);

/*
 * Pure. The site or app of a host: "Facebook" for "www.facebook.com"; "" for an unknown one. host:
 * as referrer_host writes it. The build makes the table from referrer_sources.txt (facts.cmake).
 */
const char *enrich_referrer_source(const char *host);

struct referrer_source_pair {
	const char *host;
	const char *name;
};

/* Sorted by host (strcmp). */
extern const struct referrer_source_pair referrer_source_table[];
extern const size_t referrer_source_table_size;

#endif
