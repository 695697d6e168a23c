/*
 * Safe from any thread. Answers "/{slug}+": where a link leads, for people who want to know before
 * they follow it. Nothing is counted. Where the destination depends on the visitor (rules, a split),
 * or a password protects it, the page does not name it, nor the title of a link with a password.
 *
 * The title and the creation are in PostgreSQL alone. One thread reads them; if too many visitors
 * ask, or PostgreSQL is down, the answer is 503.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_DECIDE_LINK_PREVIEW_H
#define WAYMARK_SERVICES_REDIRECTOR_DECIDE_LINK_PREVIEW_H

#include "lib/http/http_server.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_pool.h"
#include "services/redirector/pages/pages.h"

/* Of PostgreSQL that previews use at a time. */
#define LINK_PREVIEW_CONNECTIONS 1

struct link_preview;

/* Both are borrowed. */
struct link_preview *link_preview_new(struct pg_pool *postgres, const struct pages *pages);
/* After the HTTP server has stopped. NULL is allowed. */
void link_preview_free(struct link_preview *preview);

/*
 * entry: of an ACTIVE link; borrowed for the call. Returns HTTP_PENDING, with x suspended until it is
 * resumed, or HTTP_COMPLETE.
 */
enum http_progress link_preview_respond(struct link_preview *preview, struct http_exchange *x,
                                        const struct link_entry *entry);

#endif
