/*
 * One thread at a time. Derives every fact about a click: place, browser, device, bot, referrer,
 * language and campaign. A new fact needs one line here, a file of its own and a column. What was
 * derived from referrers and languages is cached, in at most 3 MB.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_ENRICH_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_ENRICH_H

#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/facts/visit.h"

struct enrich;
struct visitor_facts;

/* visitor is borrowed. */
struct enrich *enrich_new(struct visitor_facts *visitor);
/* NULL is allowed. */
void enrich_free(struct enrich *enrich);

/* Fills out but is_unique, workspace_id and tags, which the store finds. disposition: VISIT_NEW. */
void enrich_click(struct enrich *enrich, const struct redirect_event *click, struct visit *out);

#endif
