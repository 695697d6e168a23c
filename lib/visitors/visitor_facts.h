/*
 * Safe from any thread. What a click says about its visitor: place, browser, system, device and
 * whether it is a program. The redirector decides by the same facts that the statistics count.
 *
 * The files GEOIP_DB and UA_REGEXES are read at open and again when they change (file_watch.h).
 * Results are cached by network and by User-Agent, places in at most 4 MB. A new User-Agent takes
 * 60 to 100 µs, during which other threads that ask for an agent wait.
 */
#ifndef WAYMARK_LIB_VISITORS_VISITOR_FACTS_H
#define WAYMARK_LIB_VISITORS_VISITOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/base/strbuf.h"
#include "lib/visitors/bot.h"
#include "lib/visitors/geoip.h"
#include "lib/visitors/user_agent.h"

struct visitor_facts;

/*
 * Rows of a service's table of variables. The members of its struct config have these names and are
 * arrays.
 */
#define VISITOR_FACTS_VARS(config_)                                                                \
	ENV_TEXT("GEOIP_DB", config_, geoip_db, "",                                                \
	         "country or city database in MaxMind's format; empty = no places"),               \
		ENV_TEXT("UA_REGEXES", config_, ua_regexes, "",                                    \
	                 "a newer regexes.yaml of uap-core with rules for user agents; "           \
	                 "empty = those of the build")

/*
 * Checks the files of both. Returns the number of problems and appends one line for each to
 * problems.
 */
size_t visitor_facts_check(const char *geoip_db, const char *ua_regexes, struct strbuf *problems);

/* Borrowed, including the texts. */
struct visitor_facts_config {
	/* "" = none: every place is unknown. */
	const char *geoip_db;
	/* "" = those of the build. */
	const char *ua_regexes;
	/* The number of agents that are cached; at least 1. */
	size_t user_agent_cache;
	/* Interval between checks for changes. */
	int64_t check_ms;
	/* Use the database of this one, which reloads and closes it, not a copy; or NULL. */
	const struct visitor_facts *share_places_with;
	const struct log *log;
	/* For waymark_fact_files_broken; may be NULL. */
	struct metrics *metrics;
};

/* ERR_NOT_FOUND, ERR_INVALID: a file cannot be used (logged). */
enum err visitor_facts_open(const struct visitor_facts_config *config,
                            struct visitor_facts **out) MUST_CHECK;
/* NULL is allowed. */
void visitor_facts_close(struct visitor_facts *facts);

/* Whether there is a database of places. */
bool visitor_facts_has_places(const struct visitor_facts *facts);

/* network: as in geoip_lookup. Unknown facts are "". */
void visitor_facts_place(struct visitor_facts *facts, const char *network, struct geoip_place *out);

/* text: as in user_agent_parse. Whether a click is a bot's also depends on its request (bot_reason). */
void visitor_facts_agent(struct visitor_facts *facts, const char *text, struct user_agent *out);

#endif
