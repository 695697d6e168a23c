#include "services/links-api/documents/dashboard_handlers.h"

#include <string.h>

#include "services/links-api/documents/web_files.h"
#include "services/links-api/http/response.h"

#define ROOT "/app/"

enum http_progress dashboard_handlers_redirect(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_exchange_add_fixed_header(x, "Location", ROOT);
	http_exchange_set_status(x, 303);
	return HTTP_COMPLETE;
}

/*
 * Scripts and styles come from our own files only, never from the page itself, and nothing of
 * another server is loaded.
 */
static void add_headers(struct http_exchange *x, const struct web_response *found)
{
	http_exchange_set_fixed_header(x, "Cache-Control",
	                               found->is_immutable ? "public, max-age=31536000, immutable"
	                                                   : "public, no-cache");
	http_exchange_add_fixed_header(x, "Vary", "Accept-Encoding");
	http_exchange_add_fixed_header(x, "ETag", found->document.etag);
	http_exchange_add_fixed_header(
		x, "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
		"require-trusted-types-for 'script'");
	http_exchange_add_fixed_header(x, "Referrer-Policy", "no-referrer");
}

enum http_progress dashboard_handlers_file(void *ctx, struct http_exchange *x)
{
	struct web_response found;
	const char *path = http_exchange_path(x) + strlen(ROOT);
	const char *accept = http_exchange_joined_header(x, "Accept-Encoding");
	if (web_files_find(&web_files_dashboard, path, accept, &found) != OK)
		return response_not_found(ctx);
	add_headers(x, &found);
	if (document_matches_etag(&found.document,
	                          http_exchange_joined_header(x, "If-None-Match"))) {
		http_exchange_set_status(x, 304);
		return HTTP_COMPLETE;
	}
	if (found.coding)
		http_exchange_add_fixed_header(x, "Content-Encoding", found.coding);
	http_exchange_set_fixed_body(x, found.document.content_type, found.document.bytes,
	                             found.document.len);
	return HTTP_COMPLETE;
}
