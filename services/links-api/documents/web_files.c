#include "services/links-api/documents/web_files.h"

#include <string.h>

#include "lib/http/http_accept.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"

#define INDEX "index.html"
#define HASHED_FOLDER "assets/" /* Vite writes a hash of the content into the names of its files */

static const char *const codings[WEB_CODINGS] = { NULL, "gzip", "br" };

/* "*" stands for codings that are not listed (RFC 9110, 12.5.3). A malformed weight counts as 0. */
static int weight_of(const char *accept, const char *coding)
{
	int any = 0;
	struct http_accept_item item;
	while (http_accept_next(&accept, &item)) {
		int weight = item.weight == HTTP_ACCEPT_WEIGHT_INVALID ? 0 : item.weight;
		if (http_accept_is(&item, coding))
			return weight;
		if (http_accept_is(&item, "*"))
			any = weight;
	}
	return any;
}

static enum web_coding choose_coding(const struct web_file *file, const char *accept)
{
	enum web_coding chosen = WEB_IDENTITY;
	int best = 0;
	for (enum web_coding i = WEB_BROTLI; accept && i > WEB_IDENTITY; i--) {
		int weight = file->forms[i].bytes ? weight_of(accept, codings[i]) : 0;
		if (weight > best) {
			best = weight;
			chosen = i;
		}
	}
	return chosen;
}

static const struct web_file *find(const struct web_files *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++)
		if (strcmp(files->files[i].path, path) == 0)
			return &files->files[i];
	return NULL;
}

static bool is_page(const char *path)
{
	const char *slash = strrchr(path, '/');
	return strchr(slash ? slash : path, '.') == NULL;
}

enum err web_files_find(const struct web_files *files, const char *path,
                        const char *accept_encoding, struct web_response *out)
{
	const struct web_file *file = find(files, is_page(path) ? INDEX : path);
	if (!file)
		return ERR_NOT_FOUND;
	enum web_coding coding = choose_coding(file, accept_encoding);
	const struct web_form *form = &file->forms[coding];
	*out = (struct web_response){
		.document = { file->path, file->content_type, form->bytes, form->len, form->etag },
		.coding = codings[coding],
		.is_immutable = strncmp(file->path, HASHED_FOLDER, strlen(HASHED_FOLDER)) == 0,
	};
	return OK;
}

/* --- requests --- */

#define ROOT "/app/"

enum http_progress web_files_redirect(void *ctx, struct http_exchange *x)
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

enum http_progress web_files_get(void *ctx, struct http_exchange *x)
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
