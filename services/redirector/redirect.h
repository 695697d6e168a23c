/*
 * Safe from any thread. The HTTP handler for visitors: GET and HEAD of /{slug} and /r/{slug},
 * /robots.txt, /favicon.ico, the documents of apps below /.well-known/, and "/". A link whose status is 307 or 308 is followed with any method,
 * because these exist to keep it; the request's body is not read.
 *
 * A link that memory knows is answered in the loop thread. Otherwise the connection waits while the
 * stores are queried (link_lookup.h). The event of a redirect is in the journal before the response
 * is queued, so every redirect that was sent is counted. Nothing but a redirect of a link, or a page
 * that leads on in its place (decide/link_responder.h), makes an event.
 *
 * This file is the whole way of a plain link. A link with extras goes on in decide/, as does
 * "/{slug}+", which asks where a link leads. "/{slug}/more" is for links that forward paths.
 *
 * A blocked link, and one to a blocked host (host_guard.h), is answered 451, wherever it was found;
 * that is not a redirect.
 *
 * A slug that was typed is looked up under the key of a slug that is found in either case, then under
 * that of an exact one (lib/links/slug.h), or the other way round if SLUG_CASE is exact. Links of the
 * second kind are from before SLUG_CASE changed; PostgreSQL or the Bloom filter knows them. A link whose slug
 * differs from what was typed in the case of its letters, and may not, is unknown, and takes as long
 * as an unknown one: how long an answer takes must not tell a guess that is nearly right.
 *
 * An address that has requested too many unknown slugs still gets every link that exists. Its
 * further unknown slugs are answered 429: at once if the Bloom filter lacks them, otherwise after
 * their lookup.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_REDIRECT_H
#define WAYMARK_SERVICES_REDIRECTOR_REDIRECT_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/http/http_server.h"
#include "lib/links/link.h"
#include "lib/tracing/tracer.h"
#include "services/redirector/decide/link_preview.h"
#include "services/redirector/decide/link_responder.h"
#include "services/redirector/lookup/link_lookup.h"
#include "services/redirector/lookup/unknown_slug_limiter.h"
#include "services/redirector/pages/app_documents.h"

struct redirect;

/* Everything is borrowed. */
struct redirect_config {
	struct link_lookup *lookup;
	struct client_limiter *client_limiter;
	const struct unknown_slug_limiter *unknown_slugs;
	/* Answers; a plain link needs neither its facts nor its gate. */
	struct link_responder links;
	struct link_preview *preview;
	struct app_documents *documents;
	const char *root_url;
	int64_t unknown_per_minute;
	/* SLUG_CASE is exact. */
	bool is_slug_exact;
	/* NULL: no spans. */
	struct tracer *tracer;
	const struct clock *clock;
	struct metrics *metrics;
};

struct redirect *redirect_new(const struct redirect_config *config);
void redirect_free(struct redirect *redirect);

/* An http_handler and an http_observer; ctx is the struct redirect. */
enum http_progress redirect_handle(void *ctx, struct http_exchange *x);
void redirect_observe(void *ctx, const struct http_exchange *x, unsigned status,
                      int64_t duration_us);

/* An http_error_response for requests that the server itself rejects. */
void redirect_respond_error(void *ctx, struct http_exchange *x, unsigned status,
                            const char *detail);

struct redirect_decision {
	unsigned status;
	/* Borrowed from the entry; NULL: no redirect. */
	const char *location;
};

/*
 * The response to a visitor at a given time. found: OK with the entry, ERR_NOT_FOUND or
 * ERR_UNAVAILABLE.
 *   ACTIVE                        the link's own status and original_url
 *   EXPIRED, or expires_at passed 302 to expired_url, or 410
 *   DISABLED, DELETED, unknown    404
 *   before starts_at              404
 *   no store could answer         503
 */
struct redirect_decision redirect_decide(enum err found, const struct link_entry *entry,
                                         int64_t now_us);

#endif
