/*
 * One thread at a time. Derives every fact about a click: place, browser, device, bot, referrer,
 * language and campaign. A new fact needs one line here, a file of its own and a column.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_ENRICH_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_ENRICH_H

#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/facts/geoip.h"
#include "services/analytics-consumer/facts/user_agent.h"
#include "services/analytics-consumer/facts/visit.h"

/*
 * What was derived from networks, referrers and languages before. One thread at a time. Takes at
 * most 7 MB, which the kernel provides on first use.
 */
struct enrich_caches;

/* The sources of facts; borrowed. */
struct enrich_sources {
	struct user_agent_parser *user_agents;
	struct geoip *geoip;
	struct enrich_caches *caches;
};

struct enrich_caches *enrich_caches_new(void);
void enrich_caches_free(struct enrich_caches *caches);

/* Fills out but is_unique, owner_id and tags, which the store finds. disposition: VISIT_NEW. */
void enrich_click(const struct enrich_sources *sources, const struct redirect_event *click,
                  struct visit *out);

#endif
