#include "services/links-api/documents/document_handlers.h"

#include <string.h>

#include "services/links-api/documents/document.h"
#include "services/links-api/http/response.h"

/* Public and cacheable, but revalidated: a new version of the program has new documents. */
static enum http_progress send_document(struct request *r, const struct document *document)
{
	struct http_exchange *x = r->exchange;
	http_exchange_set_fixed_header(x, "Cache-Control", "public, no-cache");
	http_exchange_add_fixed_header(x, "ETag", document->etag);
	if (document_matches_etag(document, http_exchange_joined_header(x, "If-None-Match"))) {
		http_exchange_set_status(x, 304);
		return HTTP_COMPLETE;
	}
	http_exchange_set_fixed_body(x, document->content_type, document->bytes, document->len);
	return HTTP_COMPLETE;
}

static enum http_progress send_named(struct request *r, const char *name)
{
	struct document document;
	return document_find(name, &document) == OK ? send_document(r, &document)
	                                            : response_not_found(r);
}

enum http_progress document_handlers_description(void *ctx, struct http_exchange *x)
{
	(void)x;
	return send_named(ctx, "openapi.json");
}

/* The reader sets inline styles. Scripts come from this origin only, nothing from elsewhere. */
enum http_progress document_handlers_reader(void *ctx, struct http_exchange *x)
{
	http_exchange_add_fixed_header(
		x, "Content-Security-Policy",
		"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
		"img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'");
	http_exchange_add_fixed_header(x, "Referrer-Policy", "no-referrer");
	return send_named(ctx, "reader");
}

enum http_progress document_handlers_file(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	const char *name = r->match.params[0];
	const char *dot = strrchr(name, '.');
	bool is_file = dot && (strcmp(dot, ".js") == 0 || strcmp(dot, ".css") == 0 ||
	                       strcmp(dot, ".md") == 0);
	return is_file ? send_named(r, name) : response_not_found(r);
}

enum http_progress document_handlers_problem(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct document document;
	if (document_find_problem(r->match.params[0], &document) != OK)
		return response_not_found(r);
	return send_document(r, &document);
}

enum http_progress document_handlers_runbook(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct document document;
	if (document_find_runbook(r->match.params[0], &document) != OK)
		return response_not_found(r);
	return send_document(r, &document);
}
