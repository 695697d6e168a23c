/*
 * One thread at a time. The files that facts about clicks come from, GEOIP_DB and UA_REGEXES: read at start, and again
 * when they change (file_watch.h), while enrich_click goes on.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACT_SOURCES_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACT_SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "services/analytics-consumer/enrich.h"

struct fact_sources;

/* Borrowed, texts as well. */
struct fact_sources_config {
	const char *geoip_db; /* "" = none */
	const char *ua_regexes;
	size_t user_agent_cache;
	int64_t check_ms; /* the files are looked at so often */
	const struct fact_sources
		*places_of; /* their GEOIP_DB, which they read again and close, instead of one more copy; or NULL */
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

/* ERR_NOT_FOUND, ERR_INVALID: a file cannot be used (logged). */
enum err fact_sources_open(const struct fact_sources_config *config, struct fact_sources **out) MUST_CHECK;
void fact_sources_close(struct fact_sources *sources);

/* For one thread. */
struct enrich_sources fact_sources_get(const struct fact_sources *sources);

#endif
