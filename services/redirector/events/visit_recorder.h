/*
 * Safe from any thread. Records a visit, once for each answer that leads on:
 *
 *   visit_recorder_describe(recorder, x, &event);      // who visits
 *   ... decide where the visitor goes ...
 *   visit_recorder_append(recorder, x, entry, 302, url, &event);
 *
 * After the second call the visit is in the journal, so it comes before the response is queued.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENTS_VISIT_RECORDER_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENTS_VISIT_RECORDER_H

#include "lib/base/clock.h"
#include "lib/base/metrics.h"
#include "lib/http/http_server.h"
#include "lib/links/link.h"
#include "services/redirector/events/click.h"
#include "services/redirector/events/event_shipper.h"

/* Borrowed. Initialise it with visit_recorder_init. */
struct visit_recorder {
	struct event_shipper *events;
	struct salt_cache *salts;
	/* At most REDIRECT_EVENT_REGION_MAX bytes. */
	const char *region;
	const struct clock *clock;
	struct metric *without_hash;
};

void visit_recorder_init(struct visit_recorder *recorder, struct event_shipper *events,
                         struct salt_cache *salts, const char *region, const struct clock *clock,
                         struct metrics *metrics);

/* Sets what click_describe sets. */
void visit_recorder_describe(const struct visit_recorder *recorder, struct http_exchange *x,
                             struct redirect_event *event);

/*
 * Sets the rest but rule and variant, and stores the event. A link that was found by an alias is
 * named by its own slug. url: where the visitor is sent, in normal form.
 */
void visit_recorder_append(const struct visit_recorder *recorder, struct http_exchange *x,
                           const struct link_entry *entry, unsigned status, const char *url,
                           struct redirect_event *event);

#endif
