/*
 * One thread at a time. Click path 6/9. Derives every fact about a click in one place: who calls this knows all that
 * there is to know, and a new fact is one line here, one file of its own and one column.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_ENRICH_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_ENRICH_H

#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/geoip.h"
#include "services/analytics-consumer/user_agent.h"
#include "services/analytics-consumer/visit.h"

/* Where facts come from; borrowed. */
struct enrich_sources {
	struct user_agent_parser *user_agents;
	struct geoip *geoip;
};

/* Fills everything but event.unique, which only the store can tell. fate is VISIT_NEW. */
void enrich_click(const struct enrich_sources *sources, const struct redirect_event *click, struct visit *out);

#endif
