/*
 * Safe from any thread. Pages that a link itself answers with, 200 and without a script. Texts and
 * URLs are borrowed, and escaped. Each function completes x.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_DECIDE_LINK_PAGES_H
#define WAYMARK_SERVICES_REDIRECTOR_DECIDE_LINK_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/http/http_server.h"
#include "services/redirector/pages/page.h"

/* Opens the app of url at once; a link leads to fallback_url. */
enum http_progress link_pages_respond_app(const struct page_site *site, struct http_exchange *x,
                                          const char *url, const char *fallback_url);

/* What chats and feeds show as a card (Open Graph). "" = the owner set none. */
struct link_pages_card {
	const char *title;
	const char *description;
	const char *image_url;
	/* Where the link leads. */
	const char *url;
};

enum http_progress link_pages_respond_card(const struct page_site *site, struct http_exchange *x,
                                           const struct link_pages_card *card);

/* What "/{slug}+" says. */
struct link_pages_preview {
	const char *slug;
	/* "" = it depends on the visitor, or is not for everybody (is_locked). */
	const char *host;
	bool is_locked;
	/* "" = none. */
	const char *title;
	int64_t created_at_us;
	/* 0 = never. */
	int64_t expires_at_us;
};

enum http_progress link_pages_respond_preview(const struct page_site *site, struct http_exchange *x,
                                              const struct link_pages_preview *preview);

#endif
