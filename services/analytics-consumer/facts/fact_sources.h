/*
 * One thread at a time. The files from which facts about clicks are derived: GEOIP_DB and
 * UA_REGEXES. They are read at start and reloaded when they change (file_watch.h), while
 * enrich_click continues.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_FACT_SOURCES_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_FACT_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "services/analytics-consumer/facts/enrich.h"

struct fact_sources;

/* Borrowed, including the texts. */
struct fact_sources_config {
	/* "" = none. */
	const char *geoip_db;
	const char *ua_regexes;
	size_t user_agent_cache;
	/* Interval between checks for changes. */
	int64_t check_ms;
	/* Use the database of these sources, which reload and close it, not a copy; or NULL. */
	const struct fact_sources *share_geoip_with;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

/* ERR_NOT_FOUND, ERR_INVALID: a file cannot be used (logged). */
enum err fact_sources_open(const struct fact_sources_config *config,
                           struct fact_sources **out) MUST_CHECK;
void fact_sources_close(struct fact_sources *sources);

/* For use by one thread. sources may be NULL: then the result is empty. */
struct enrich_sources fact_sources_get(const struct fact_sources *sources);

#endif
