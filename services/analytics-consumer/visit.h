/*
 * Pure. One click with all that was found out about it: what is stored in visit_log and, as its event, sent to
 * integrations. A value without pointers.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/trace_context.h"
#include "lib/clicks/redirect_event.h"
#include "lib/clicks/visit_event.h"
#include "lib/net/client_ip.h"

enum visit_fate {
	VISIT_NEW,           /* counts */
	VISIT_REPEAT,        /* its event_id has been counted: dropped */
	VISIT_COUNTED_BEFORE /* stands before the stored offset: read again only to be published again */
};

struct visit {
	struct visit_event event;
	enum visit_fate fate;
	char traceparent[TRACE_CONTEXT_SIZE]; /* "": the click is in no trace */
	int32_t day;                          /* UTC day of event.occurred_at_us, since 1970-01-01 */
	int32_t latency_us;
	int16_t status;
	bool has_visitor_hash;
	uint8_t visitor_hash[DIGEST_SIZE];
	char client_network[CLIENT_IP_NETWORK_SIZE];
	char served_from[REDIRECT_EVENT_REGION_MAX + 1]; /* REGION of the redirector */
};

#endif
