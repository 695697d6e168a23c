#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/digest.h"
#include "lib/links/link_store.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/etag.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/qr/qr_code.h"

#define IMAGE_BYTES_MAX (1024 * 1024)
#define ETAG_BYTES 12 /* of the image's digest */
#define SIZE_DEFAULT 256
#define MARGIN_DEFAULT 4

enum format { SVG, PNG, ANY };

static const char *const types[] = { [SVG] = "image/svg+xml", [PNG] = "image/png" };

/* ?format=svg|png&size=64…2048&margin=0…16, in pixels and modules. */
static enum err read_params(const char *query, struct qr_code_image *image, enum format *format,
                            struct http_problem_fields *wrong)
{
	char name[QUERY_PARAMS_TEXT_SIZE] = "";
	*image = (struct qr_code_image){ SIZE_DEFAULT, MARGIN_DEFAULT };
	struct query_param params[] = {
		{ .name = "format", .text = name, .text_size = sizeof(name) },
		{ .name = "size",
		  .number = &image->size,
		  .min = QR_CODE_SIZE_MIN,
		  .max = QR_CODE_SIZE_MAX },
		{ .name = "margin", .number = &image->margin, .min = 0, .max = QR_CODE_MARGIN_MAX },
	};
	enum err err = query_params_read(query, params, ARRAY_SIZE(params), wrong);
	*format = strcmp(name, "svg") == 0 ? SVG : strcmp(name, "png") == 0 ? PNG : ANY;
	if (!params[0].seen || *format != ANY)
		return err;
	http_problem_add_field(wrong, "/format", "choice", "must be svg or png");
	return ERR_INVALID;
}

/* An explicit format wins over Accept. False: neither is accepted, the response is complete. */
static bool choose_format(struct request *r, enum format *format)
{
	size_t chosen;
	if (*format != ANY)
		return true;
	if (response_choose_type(http_exchange_joined_header(r->exchange, "Accept"), types, ANY,
	                         &chosen) != OK) {
		response_problem(r, 406, NULL,
		                 "The Accept header excludes image/svg+xml and image/png.");
		return false;
	}
	*format = (enum format)chosen;
	return true;
}

static enum err find_link(const struct request *r, struct link *link)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = link_store_get(conn, request_path_id(r), request_workspaces(r), link);
	pg_pool_release(r->api->pg, conn);
	return request_check_link(r, err, link);
}

static enum http_progress send_too_small(struct request *r, size_t modules)
{
	struct http_problem_fields wrong = { 0 };
	http_problem_add_field(&wrong, "/size", "number",
	                       "must be at least %zu for this link and margin", modules);
	return response_invalid_fields(r, &wrong);
}

static enum http_progress send_image(struct request *r, enum format format,
                                     const struct strbuf *image)
{
	struct http_exchange *x = r->exchange;
	uint8_t digest[DIGEST_SIZE];
	char hex[2 * ETAG_BYTES + 1];
	char etag[ETAG_SIZE];
	digest_sha256(image->data, image->len, digest);
	digest_hex(digest, ETAG_BYTES, hex);
	snprintf(etag, sizeof(etag), "\"%s\"", hex);
	if (http_exchange_add_header(x, "ETag", etag) != OK)
		return response_failure(r, ERR_INTERNAL);
	http_exchange_add_fixed_header(x, "Vary", "Accept");
	if (!etag_if_none_match(http_exchange_joined_header(x, "If-None-Match"), etag)) {
		http_exchange_set_status(x, 304);
		return HTTP_COMPLETE;
	}
	http_exchange_add_fixed_header(x, "Content-Security-Policy", "default-src 'none'");
	http_exchange_set_body(x, types[format], image->data, image->len);
	return HTTP_COMPLETE;
}

static enum http_progress draw(struct request *r, const struct qr_code_image *wanted,
                               enum format format, const struct qr_code *code)
{
	struct strbuf image;
	enum err err = OK;
	strbuf_init(&image, IMAGE_BYTES_MAX);
	if (format == PNG)
		err = qr_code_write_png(code, wanted, &image);
	else
		qr_code_write_svg(code, wanted, &image);
	bool is_too_small = err == ERR_INVALID;
	if (err == OK)
		err = strbuf_status(&image);
	enum http_progress progress;
	if (is_too_small)
		progress = send_too_small(r, qr_code_side(code, wanted));
	else
		progress = err == OK ? send_image(r, format, &image)
		                     : response_failure(r, ERR_INTERNAL);
	strbuf_clear(&image);
	return progress;
}

enum http_progress qr_handlers_get(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct qr_code_image image;
	enum format format;
	struct http_problem_fields wrong = { 0 };
	if (read_params(http_exchange_query(x), &image, &format, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	if (!choose_format(r, &format))
		return HTTP_COMPLETE;
	struct link link;
	enum err err = find_link(r, &link);
	bool is_deleted = err == OK && link.entry.state == LINK_STATE_DELETED;
	if (err == ERR_NOT_FOUND || is_deleted)
		return response_link_not_found(r, is_deleted);
	if (err != OK)
		return response_failure(r, err);

	char short_url[PUBLIC_BASE_SHORT_URL_SIZE], scanned[PUBLIC_BASE_SHORT_URL_SIZE + 8];
	struct qr_code code;
	public_base_short_url(r->api->base, link.entry.slug, short_url);
	/* By which visits tell scans apart (lib/links/link_forward.h). */
	snprintf(scanned, sizeof(scanned), "%s?qr=1", short_url);
	if (qr_code_encode(scanned, &code) != OK)
		return response_failure(r, ERR_INTERNAL);
	enum http_progress progress = draw(r, &image, format, &code);
	qr_code_clear(&code);
	return progress;
}
