/*
 * One appender's side and one shipper's side. A lane of events: a journal, and the instance and sequence of what this
 * process appends to it. There are a few lanes, so that threads that answer redirects seldom wait for one another; the
 * events of a slug are all in one, which keeps their order.
 *
 * An instance is one run of one lane: a process that finds records of an earlier one ships them under the instance that
 * they carry, in their order and before its own, and numbers its own from 1. So within an instance the sequence of
 * events rises, whatever was killed, and a journal that lost its tail to a power cut never gives a number twice.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENT_LANE_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENT_LANE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/trace_context.h"
#include "lib/clicks/redirect_event.h"
#include "services/redirector/journal.h"

struct event_lane;

/* The folder of the journal is config->dir. */
struct event_lane *event_lane_new(const struct journal_config *config);
void event_lane_free(struct event_lane *lane);

/*
 * Safe from any thread. Sets the event's id, instance and sequence. traceparent may be "". ERR_LIMIT: it could not be
 * kept.
 */
enum err event_lane_append(struct event_lane *lane, struct redirect_event *event, const char *traceparent) MUST_CHECK;

/* The shipper's: what is known of a record without decoding it. Borrowed from the journal until it is acked. */
struct event_lane_record {
	const uint8_t *event_id;
	int64_t occurred_at_us;
	char slug[33];
	char traceparent[TRACE_CONTEXT_SIZE];
	const void *bytes; /* a waymark.v1.RedirectEvent */
	size_t len;
	uint64_t ticket;
};

/* As journal_next. */
bool event_lane_next(struct event_lane *lane, struct event_lane_record *record);

/* For journal_ack, journal_maintain, journal_count. */
struct journal *event_lane_journal(struct event_lane *lane);

#endif
