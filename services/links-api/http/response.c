#include "services/links-api/http/response.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_accept.h"
#include "services/links-api/http/etag.h"

/* A page of 100 links with the longest URLs, titles, tags and notes takes less than 5 MiB. */
#define BODY_BYTES_MAX (8 * 1024 * 1024)
/* Less fits into one packet anyhow. */
#define COMPRESSED_BYTES_MIN 1024
#define HEADER_SIZE 96
#define SPAN_SIZE 48
#define NAMED_FIELDS_MAX 3

static void add_header(struct request *r, const char *name, const char *value)
{
	if (http_exchange_add_header(r->exchange, name, value) != OK)
		log_error(r->api->log, "header_refused", LOG_TEXT("name", name),
		          LOG_TEXT("request_id", http_exchange_request_id(r->exchange)));
}

static bool is_read(const struct request *r)
{
	enum http_method method = http_exchange_method(r->exchange);
	return method == HTTP_GET || method == HTTP_HEAD;
}

bool response_accepts_json(struct request *r)
{
	static const char *const json[] = { "application/json", "application/problem+json" };
	size_t chosen;
	if (response_choose_type(http_exchange_joined_header(r->exchange, "Accept"), json,
	                         is_read(r) ? 1 : 2, &chosen) == OK)
		return true;
	response_problem(
		r, 406, NULL,
		"This endpoint responds with application/json, which the Accept header excludes.");
	return false;
}

enum compression response_choose_coding(struct request *r, size_t len)
{
	static const bool is_offered[COMPRESSIONS] = {
		[COMPRESSION_GZIP] = true, [COMPRESSION_BROTLI] = true
	};
	http_exchange_add_fixed_header(r->exchange, "Vary", "Accept-Encoding");
	return len < COMPRESSED_BYTES_MIN
	               ? COMPRESSION_NONE
	               : compression_choose(
				 http_exchange_joined_header(r->exchange, "Accept-Encoding"),
				 is_offered);
}

void response_set_coded_body(struct request *r, enum compression coding, const char *content_type,
                             const char *bytes, size_t len)
{
	if (coding == COMPRESSION_NONE) {
		http_exchange_set_body(r->exchange, content_type, bytes, len);
		return;
	}
	struct strbuf coded;
	strbuf_init(&coded, SIZE_MAX);
	struct compression_stream *stream = compression_stream_new(coding);
	compression_stream_add(stream, bytes, len, true, &coded);
	compression_stream_free(stream);
	http_exchange_add_fixed_header(r->exchange, "Content-Encoding", compression_name(coding));
	http_exchange_set_body(r->exchange, content_type, coded.data, coded.len);
	strbuf_clear(&coded);
}

void response_set_body(struct request *r, const char *content_type, const char *bytes, size_t len)
{
	enum compression coding = r->has_etag ? COMPRESSION_NONE : response_choose_coding(r, len);
	response_set_coded_body(r, coding, content_type, bytes, len);
}

enum http_progress response_json(struct request *r, unsigned status, struct json *body)
{
	if (is_read(r) && !response_accepts_json(r)) {
		json_free(body);
		return HTTP_COMPLETE;
	}
	struct strbuf text;
	strbuf_init(&text, BODY_BYTES_MAX);
	json_write(body, &text);
	json_free(body);
	http_exchange_set_status(r->exchange, status);
	bool fits = strbuf_status(&text) == OK;
	if (fits)
		response_set_body(r, "application/json", text.data, text.len);
	strbuf_clear(&text);
	return fits ? HTTP_COMPLETE : response_failure(r, ERR_INTERNAL);
}

void response_set_ms(struct json *body, const char *name, double ms)
{
	json_set_real(body, name, round(ms * 1000) / 1000);
}

void response_add_freshness(struct json *body, int64_t as_of_us, int64_t now_us)
{
	int64_t lag_us = now_us - as_of_us;
	json_set_time(body, "as_of", as_of_us);
	if (as_of_us == 0)
		json_set_null(body, "lag_ms");
	else
		json_set_int(body, "lag_ms", lag_us > 0 ? lag_us / CLOCK_US_PER_MS : 0);
}

enum http_progress response_no_content(struct request *r)
{
	http_exchange_set_status(r->exchange, 204);
	return HTTP_COMPLETE;
}

static void set_number(struct json *json, const char *name, bool is_known, int64_t value)
{
	if (is_known)
		json_set_int(json, name, value);
	else
		json_set_null(json, name);
}

struct json *response_pagination_json(const struct pagination *pagination)
{
	bool has_page = pagination->page > 0, has_total = pagination->total != PAGINATION_UNCOUNTED;
	int64_t limit = pagination->limit;
	struct json *json = json_new_object();
	set_number(json, "page", has_page, pagination->page);
	json_set_int(json, "limit", limit);
	set_number(json, "total", has_total, pagination->total);
	json_set_bool(json, "total_is_capped", pagination->total_is_capped);
	set_number(json, "total_pages", has_page && has_total && !pagination->total_is_capped,
	           (pagination->total + limit - 1) / limit);
	json_set_text(json, "next_cursor", pagination->next_cursor);
	return json;
}

enum http_progress response_deleted(struct request *r, enum err err)
{
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	return err == OK ? response_no_content(r) : response_failure(r, err);
}

enum http_progress response_list(struct request *r, enum err err, const char *name,
                                 struct json *array)
{
	struct json *response = json_new_object();
	json_set(response, name, array);
	if (err == OK)
		return response_json(r, 200, response);
	json_free(response);
	return response_failure(r, err);
}

enum http_progress response_rows(struct request *r, const char *name, const char *sql,
                                 const struct pg_params *params, response_row_json *row_json)
{
	struct pg_conn *conn = NULL;
	struct pg_result *rows = NULL;
	struct json *array = json_new_array();
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = pg_conn_query(conn, sql, params, &rows);
	pg_pool_release(r->api->pg, conn);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++)
		json_append(array, row_json(r, rows, i));
	pg_result_free(rows);
	return response_list(r, err, name, array);
}

enum http_progress response_problem(struct request *r, unsigned status, const char *kind,
                                    const char *detail)
{
	return http_problem_respond(r->exchange, status, kind, detail, NULL);
}

void response_fields_detail(const struct http_problem_fields *fields,
                            char out[static RESPONSE_DETAIL_SIZE])
{
	size_t len = (size_t)snprintf(out, RESPONSE_DETAIL_SIZE, "Invalid request: ");
	size_t named = fields->count < NAMED_FIELDS_MAX ? fields->count : NAMED_FIELDS_MAX;
	for (size_t i = 0; i < named; i++) {
		const char *pointer = fields->field[i].pointer;
		len += (size_t)snprintf(out + len, RESPONSE_DETAIL_SIZE - len, "%s%s%s%s",
		                        i > 0 ? "; " : "", *pointer ? pointer + 1 : "",
		                        *pointer ? ": " : "", fields->field[i].detail);
	}
	if (fields->count > named)
		len += (size_t)snprintf(out + len, RESPONSE_DETAIL_SIZE - len, "; and %zu more",
		                        fields->count - named);
	snprintf(out + len, RESPONSE_DETAIL_SIZE - len, ".");
}

enum http_progress response_invalid_fields(struct request *r,
                                           const struct http_problem_fields *fields)
{
	char detail[RESPONSE_DETAIL_SIZE];
	response_fields_detail(fields, detail);
	return http_problem_respond(r->exchange, 400, "validation", detail, fields);
}

enum http_progress response_conflict(struct request *r, const char *kind, const char *pointer,
                                     const char *detail)
{
	return response_conflict_of(r, kind, pointer, kind, detail);
}

enum http_progress response_conflict_of(struct request *r, const char *kind, const char *pointer,
                                        const char *code, const char *detail)
{
	struct http_problem_fields fields = { 0 };
	http_problem_add_field(&fields, pointer, code, "%s", detail);
	char sentence[RESPONSE_DETAIL_SIZE];
	if (*detail && detail[strlen(detail) - 1] == '.')
		snprintf(sentence, sizeof(sentence), "%s", detail);
	else
		snprintf(sentence, sizeof(sentence), "Conflict: %s%s%s.",
		         *pointer ? pointer + 1 : "", *pointer ? " " : "", detail);
	return http_problem_respond(r->exchange, 409, kind, sentence, &fields);
}

enum http_progress response_unauthorized(struct request *r, enum request_auth login)
{
	static const char missing[] = "Authentication required. Send Authorization: Bearer <access "
				      "token or API key>, or X-Api-Key: <API key>.";
	static const char *const bad[] = {
		[REQUEST_ACCESS_TOKEN] = "The access token is invalid. That of a share is for "
					 "/api/shared only.",
		[REQUEST_API_KEY] = "The API key is invalid. X-Api-Key takes API keys only; send "
				    "access tokens as Authorization: Bearer.",
		[REQUEST_SESSION] = "The session is invalid or has expired.",
		[REQUEST_SHARE] = "The access token of the share is invalid or has expired, or the "
				  "share has ended. POST /api/shared/access gives a new one.",
	};
	static const char *const kinds[] = {
		[REQUEST_ACCESS_TOKEN] = "token-invalid",
		[REQUEST_API_KEY] = "key-invalid",
		[REQUEST_SESSION] = "session-ended",
		[REQUEST_SHARE] = "share-token-invalid",
	};
	const struct request_credentials *sent = &r->credentials;
	bool is_bad = login == REQUEST_AUTH_INVALID;
	const char *kind = is_bad ? kinds[sent->kind] : "credentials-missing";
	const char *detail = is_bad ? bad[sent->kind] : missing;
	if (is_bad && sent->is_expired) {
		bool is_key = sent->kind == REQUEST_API_KEY;
		kind = is_key ? "key-expired" : "token-expired";
		detail = is_key ? "The API key has expired." : "The access token has expired.";
	}
	http_exchange_add_fixed_header(r->exchange, "WWW-Authenticate",
	                               is_bad ? "Bearer realm=\"waymark\", error=\"invalid_token\""
	                                      : "Bearer realm=\"waymark\"");
	return response_problem(r, 401, kind, detail);
}

enum http_progress response_other_workspace(struct request *r)
{
	return response_problem(
		r, 403, "forbidden",
		r->key_id
			? "An API key is limited to the links of its workspace. An administrator's "
			  "access token can access links of other workspaces."
			: "Only administrators can name a workspace here. For yours, use "
			  "/api/workspaces/{id}/links.");
}

bool response_add_etag(struct request *r, int64_t version)
{
	char etag[ETAG_SIZE];
	etag_format(version, etag);
	r->has_etag = true;
	if (http_exchange_add_header(r->exchange, "ETag", etag) == OK)
		return true;
	response_failure(r, ERR_INTERNAL);
	return false;
}

bool response_if_match_is_valid(struct request *r)
{
	const char *header = http_exchange_joined_header(r->exchange, "If-Match");
	if (!header || etag_list_is_valid(header))
		return true;
	struct http_problem_fields wrong = { 0 };
	http_problem_add_field(&wrong, "/If-Match", "etag",
	                       "must be an ETag with its quotes, like \"v1\", a list, or *");
	response_invalid_fields(r, &wrong);
	return false;
}

enum http_progress response_stale(struct request *r, int64_t version, const char *what)
{
	const char *if_match = http_exchange_joined_header(r->exchange, "If-Match");
	char detail[RESPONSE_DETAIL_SIZE];
	snprintf(detail, sizeof(detail),
	         "The %s was modified. The ETag of this response is its current version.", what);
	if (!response_add_etag(r, version))
		return HTTP_COMPLETE;
	return response_problem(
		r, 412, "stale",
		if_match && strstr(if_match, "W/\"")
			? "If-Match has a weak ETag (W/), which never matches. The ETag of this response "
			  "is the current version; send it without W/."
			: detail);
}

enum http_progress response_not_found(struct request *r)
{
	return response_problem(r, 404, "not-found", "Resource not found.");
}

enum http_progress response_link_not_found(struct request *r, bool is_deleted)
{
	if (!is_deleted)
		return response_problem(r, 404, "link-not-found", "Resource not found.");
	char detail[RESPONSE_DETAIL_SIZE];
	snprintf(detail, sizeof(detail),
	         "The link is deleted. POST /api/links/%" PRId64
	         "/restore restores it until it is purged.",
	         request_path_id(r));
	return response_problem(r, 404, "link-deleted", detail);
}

enum http_progress response_key_limited(struct request *r, const char *detail)
{
	char text[RESPONSE_DETAIL_SIZE];
	size_t len =
		(size_t)snprintf(text, sizeof(text), "%s The tags of this API key are", detail);
	for (const char *tag = r->tags; tag && *tag;) {
		size_t size = strcspn(tag, "\x1f");
		bool fits = len + size + sizeof(", …") < sizeof(text);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s",
		                        tag == r->tags ? " " : ", ", fits ? (int)size : 3,
		                        fits ? tag : "…");
		tag += fits ? size + (tag[size] != '\0') : strlen(tag);
	}
	snprintf(text + len, sizeof(text) - len, ".");
	return response_problem(r, 403, "key-limited", text);
}

void response_add_limit(struct request *r, const struct rate_limit_rule *rule,
                        const struct rate_limit_state *state)
{
	char value[HEADER_SIZE];
	if (rule->max == ENV_UNLIMITED)
		return;
	snprintf(value, sizeof(value), "\"%s\";q=%" PRId64 ";w=%" PRId64, rule->name, rule->max,
	         rule->window_s);
	add_header(r, "RateLimit-Policy", value);
	snprintf(value, sizeof(value), "\"%s\";r=%" PRId64 ";t=%" PRId64, rule->name, state->left,
	         state->reset_s);
	add_header(r, "RateLimit", value);
}

void response_add_retry_after(struct request *r, int64_t seconds)
{
	char value[HEADER_SIZE];
	snprintf(value, sizeof(value), "%" PRId64, seconds);
	add_header(r, "Retry-After", value);
}

/*
 * In the largest unit that there are at least two of: "24 hours", rounded down, or "24 hours and 5
 * minutes", rounded up.
 */
static void format_span(int64_t seconds, bool round_up, char out[static SPAN_SIZE])
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = { { 86400, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" } };
	size_t i = 0;
	while (i + 1 < ARRAY_SIZE(units) && seconds < 2 * units[i].seconds)
		i++;
	int64_t smaller = units[round_up && i + 1 < ARRAY_SIZE(units) ? i + 1 : i].seconds;
	int64_t rounded = (seconds + (round_up ? smaller - 1 : 0)) / smaller * smaller;
	int64_t count = rounded / units[i].seconds, rest = rounded % units[i].seconds / smaller;
	int len = snprintf(out, SPAN_SIZE, "%" PRId64 " %s%s", count, units[i].name,
	                   count == 1 ? "" : "s");
	if (rest > 0)
		snprintf(out + len, SPAN_SIZE - (size_t)len, " and %" PRId64 " %s%s", rest,
		         units[i + 1].name, rest == 1 ? "" : "s");
}

void response_limit_detail(const struct rate_limit_rule *rule, int64_t reset_s,
                           char out[static RESPONSE_DETAIL_SIZE])
{
	char window[SPAN_SIZE], reset[SPAN_SIZE];
	format_span(rule->window_s, false, window);
	format_span(reset_s, true, reset);
	snprintf(out, RESPONSE_DETAIL_SIZE, "%s Limit: %s, %" PRId64 " in %s. Try again in %s.",
	         rule->detail, rule->name, rule->max, window, reset);
}

enum http_progress response_rate_limited(struct request *r, const struct rate_limit_rule *rule,
                                         int64_t reset_s)
{
	char detail[RESPONSE_DETAIL_SIZE];
	const struct rate_limit_state state = { .left = 0, .reset_s = reset_s > 0 ? reset_s : 1 };
	response_limit_detail(rule, state.reset_s, detail);
	response_add_limit(r, rule, &state);
	response_add_retry_after(r, state.reset_s);
	return response_problem(r, 429, "rate-limit", detail);
}

enum http_progress response_failure(struct request *r, enum err err)
{
	log_error(r->api->log, "request_failed",
	          LOG_TEXT("request_id", http_exchange_request_id(r->exchange)),
	          LOG_TEXT("route", r->match.route ? r->match.route->pattern : ""),
	          LOG_TEXT("error", err_name(err)));
	if (err == ERR_INTERNAL || err == ERR_INVALID)
		return response_problem(r, 500, NULL, "Internal server error.");
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	return response_problem(r, 503, NULL,
	                        "The service is temporarily unavailable. Please retry.");
}

/* --- content negotiation --- */

/* How closely a media range matches a type. The closest decides, whatever its quality. */
enum specificity { SPECIFICITY_NONE, SPECIFICITY_ANY, SPECIFICITY_FAMILY, SPECIFICITY_TYPE };

static enum specificity specificity_of(const struct http_accept_item *range, const char *type)
{
	size_t family = strcspn(type, "/") + 1;
	if (http_accept_is(range, type))
		return SPECIFICITY_TYPE;
	if (range->len == family + 1 && strncasecmp(range->name, type, family) == 0 &&
	    range->name[family] == '*')
		return SPECIFICITY_FAMILY;
	return http_accept_is(range, "*/*") ? SPECIFICITY_ANY : SPECIFICITY_NONE;
}

/* In thousandths. A malformed quality counts as 1. */
static int quality_for(const char *accept, const char *type)
{
	enum specificity best = SPECIFICITY_NONE;
	int quality = 0;
	struct http_accept_item range;
	while (http_accept_next(&accept, &range)) {
		enum specificity specificity = specificity_of(&range, type);
		if (specificity > best) {
			best = specificity;
			quality = range.weight < 0 ? HTTP_ACCEPT_WEIGHT_MAX : range.weight;
		}
	}
	return quality;
}

enum err response_choose_type(const char *accept, const char *const *offered, size_t count,
                              size_t *chosen)
{
	int best = 0;
	if (accept == NULL || accept[strspn(accept, ", \t")] == '\0') {
		*chosen = 0;
		return OK;
	}
	for (size_t i = 0; i < count; i++) {
		int quality = quality_for(accept, offered[i]);
		if (quality > best) {
			best = quality;
			*chosen = i;
		}
	}
	return best > 0 ? OK : ERR_NOT_FOUND;
}
