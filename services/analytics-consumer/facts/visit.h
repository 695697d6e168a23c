/*
 * Pure. One click with every fact derived from it. The visit is stored in visit_log, and its event
 * is sent to integrations. The only pointer is event.tags, which the store sets.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_VISIT_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_VISIT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/digest.h"
#include "lib/base/trace_context.h"
#include "lib/clicks/redirect_event.h"
#include "lib/clicks/visit_event.h"

enum visit_disposition {
	VISIT_NEW,            /* is counted */
	VISIT_DUPLICATE,      /* its event_id is already counted: dropped */
	VISIT_ALREADY_COUNTED /* its offset is already stored: read again only to be published again
	                       */
};

/* The first half of the click's: it distinguishes visitors as well, in less of the visit log. */
#define VISIT_VISITOR_HASH_SIZE 16

struct visit {
	struct visit_event event;
	enum visit_disposition disposition;
	/* "": the click has no trace. */
	char traceparent[TRACE_CONTEXT_SIZE];
	/* UTC day of event.occurred_at_us, since 1970-01-01. */
	int32_t day;
	bool has_visitor_hash;
	uint8_t visitor_hash[VISIT_VISITOR_HASH_SIZE];
	char client_network[CLIENT_IP_NETWORK_SIZE];
	/* REGION of the redirector. */
	char served_from[REDIRECT_EVENT_REGION_MAX + 1];
};

#endif
