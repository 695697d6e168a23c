/*
 * Safe from any thread. Answers a visitor of an ACTIVE link that is more than a plain one:
 *
 *   password ─► facts of the visitor ─► link_decision_take ─► blocked host ─► limit ─► answer
 *
 * The facts are those that the statistics will count, because both come from the event of the visit
 * (click_describe). Only what the link's rules ask for is looked up. The answers are
 *   the link's status      and Location. Where visitors may get different answers, 301 and 308 become
 *                          302 and 307, and no cache keeps them.
 *   200                    a page that opens an app or names a fallback, or the card of the link for
 *                          programs that show previews. A visit, like a redirect.
 *   404                    more path than the link takes
 *   410                    a rule ends the link, or its visits are used up and there is no expired_url
 *   451                    the chosen destination's host is blocked
 *   503                    it is not known if a visit is left
 * and what link_gate.h answers about passwords.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_DECIDE_LINK_RESPONDER_H
#define WAYMARK_SERVICES_REDIRECTOR_DECIDE_LINK_RESPONDER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/http/http_server.h"
#include "lib/links/host_guard.h"
#include "lib/links/link.h"
#include "lib/links/slug.h"
#include "lib/visitors/visitor_facts.h"
#include "services/redirector/events/visit_recorder.h"
#include "services/redirector/gate/link_gate.h"
#include "services/redirector/pages/pages.h"

/* Everything is borrowed. Copy it freely. */
struct link_responder {
	const struct visit_recorder *recorder;
	struct visitor_facts *facts;
	struct link_gate *gate;
	struct host_guard *hosts;
	const struct pages *pages;
	/* Of answers that are the same for everybody. */
	const char *cache_control;
	const struct clock *clock;
	const struct log *log;
};

/*
 * entry: with extras; borrowed for the call. typed: what the path of x names. now_us: the wall time
 * of the answer, unless a password is checked first. Returns HTTP_COMPLETE, or HTTP_PENDING with x
 * suspended until it is resumed.
 */
enum http_progress link_responder_respond(const struct link_responder *responder,
                                          struct http_exchange *x, const struct link_entry *entry,
                                          const struct slug_path *typed, int64_t now_us);

/* --- for plain links as well --- */

struct link_responder_target {
	unsigned status;
	/* Where the link leads, in normal form; an event names its host. */
	const char *url;
	/* What the browser is told; NULL: url. */
	const char *location;
	const char *cache_control;
};

/*
 * Completes x with a redirect, and records the visit that visit_recorder_describe has described in
 * event. 500 without a visit: location is not a valid header value.
 */
enum http_progress link_responder_redirect(const struct link_responder *responder,
                                           struct http_exchange *x, const struct link_entry *entry,
                                           const struct link_responder_target *target,
                                           struct redirect_event *event);

/* 405 for what is followed with GET and HEAD only. */
enum http_progress link_responder_respond_method(const struct pages *pages,
                                                 struct http_exchange *x);
/* 451 for a destination that host_guard.h does not allow. */
enum http_progress link_responder_respond_host(const struct pages *pages, struct http_exchange *x);
/* 503 with Retry-After. */
enum http_progress link_responder_respond_unavailable(const struct pages *pages,
                                                      struct http_exchange *x);

/* Whether the status is kept with any method: 307 and 308. Others are followed with GET and HEAD. */
bool link_responder_accepts(const struct http_exchange *x, unsigned status);

#endif
