/*
 * Safe from any thread. Click path 1/9. The door for visitors: GET and HEAD of /{slug} and /r/{slug}, robots.txt and
 * "/".
 *
 * What memory knows is answered in the loop thread; otherwise the connection waits while the stores are asked
 * (link_lookup.h). The event of a redirect is handed on before the answer is queued, so that no answered redirect can
 * go uncounted; nothing but a redirect of a link makes an event.
 *
 * A link to a host that is blocked (host_guard.h) is 451, wherever the link was found; that is no redirect.
 *
 * An address that has tried too many unknown slugs still gets what memory knows, and 429 for everything else.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_REDIRECT_H
#define WAYMARK_SERVICES_REDIRECTOR_REDIRECT_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/links/host_guard.h"
#include "lib/links/link.h"
#include "lib/net/client_ip.h"
#include "lib/net/http_server.h"
#include "services/redirector/event_shipper.h"
#include "services/redirector/link_lookup.h"
#include "services/redirector/salt_keeper.h"
#include "services/redirector/unknown_limit.h"

struct redirect;

/* Everything is borrowed. */
struct redirect_config {
	struct link_lookup *lookup;
	struct event_shipper *events;
	struct salt_keeper *salts;
	struct unknown_limit *unknown_limit;
	struct host_guard *hosts;
	const struct client_ip_ranges *trusted;
	const char *public_base_url;
	const char *root_url;
	const char *cache_control;
	const char *region; /* at most REDIRECT_EVENT_REGION_MAX bytes */
	int64_t unknown_per_minute;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

struct redirect *redirect_new(const struct redirect_config *config);
void redirect_free(struct redirect *redirect);

/* http_handler and http_observer; ctx is the struct redirect. */
enum http_progress redirect_handle(void *ctx, struct http_exchange *x);
void redirect_observe(void *ctx, const struct http_exchange *x, unsigned status, int64_t duration_us);

struct redirect_decision {
	unsigned status;
	const char *location; /* NULL: none; else borrowed from the entry */
};

/*
 * What a visitor is answered at a time. found: OK with the entry, ERR_NOT_FOUND or ERR_UNAVAILABLE.
 *   ACTIVE                      the link's own status and original_url
 *   EXPIRED (also just now)     302 to expired_url, or 410
 *   DISABLED, DELETED, unknown  404
 *   nobody could tell           503
 */
struct redirect_decision redirect_decide(enum err found, const struct link_entry *entry, int64_t now_us);

#endif
