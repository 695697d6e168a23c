/*
 * A response that sends visits as they come (live_feed.h): Server-Sent Events to a client whose
 * connection is suspended meanwhile. Safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_STREAM_H
#define WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_STREAM_H

#include "lib/http/http_server.h"
#include "services/links-api/live/live_access.h"
#include "services/links-api/live/live_visits.h"

struct live_feed;
struct live_stream;

enum live_stream_refusal {
	LIVE_STREAM_OPENED,
	LIVE_STREAM_ACCOUNT_FULL, /* streams_per_account */
	LIVE_STREAM_FULL,         /* streams_max */
};

/*
 * Opens a stream of the visits of a workspace's links. tags: only those whose link had one of
 * these when they were counted, separated by U+001F; NULL = all. after: what the client has seen; NULL =
 * nothing. Pass live_stream_read and *out to http_exchange_set_push_reader, and close it when
 * x ends.
 */
enum live_stream_refusal live_stream_open(struct live_feed *feed, struct http_exchange *x,
                                          const struct live_reader *reader, const char *tags,
                                          const struct live_visits_position *after,
                                          struct live_stream **out);
void live_stream_close(void *stream);

/* The http_body_reader of a stream. */
enum http_chunk live_stream_read(void *stream, struct strbuf *out);

#endif
