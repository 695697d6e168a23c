/*
 * Sends the response of links-api: JSON, or a problem document (RFC 9457). Every function completes
 * the response and returns HTTP_COMPLETE, so a handler can end with `return response_json(r, 200,
 * body);`. Not thread-safe: one thread at a time per exchange.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_RESPONSE_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_RESPONSE_H

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/http/compression.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/request.h"

/* Takes ownership of body. A GET whose Accept header excludes JSON gets 406 instead. */
enum http_progress response_json(struct request *r, unsigned status, struct json *body);

/*
 * Sets the body, compressed if it has more than a kilobyte and the client takes that. A response
 * with an ETag, which names the resource whatever the coding, stays as it is.
 */
void response_set_body(struct request *r, const char *content_type, const char *bytes, size_t len);

/* Says what a body of len bytes is to be coded with, and adds Vary. Then set it with that. */
enum compression response_choose_coding(struct request *r, size_t len);
void response_set_coded_body(struct request *r, enum compression coding, const char *content_type,
                             const char *bytes, size_t len);

/* Sets a latency in whole microseconds, in which latencies are measured: at most three decimals. */
void response_set_ms(struct json *body, const char *name, double ms);

/* Adds as_of and lag_ms: the counts are complete up to then. 0: nothing is counted yet, both are null. */
void response_add_freshness(struct json *body, int64_t as_of_us, int64_t now_us);

#define PAGINATION_UNCOUNTED (-1)

struct pagination {
	/* From 1; 0 = the list has no page numbers, or a cursor was given. */
	int64_t page;
	int64_t limit;
	/* Over all pages, or PAGINATION_UNCOUNTED. */
	int64_t total;
	/* NULL on the last page. */
	const char *next_cursor;
	/* There are more than total. */
	bool total_is_capped;
};

/*
 * What every paged list says about its page: {page, limit, total, total_is_capped, total_pages,
 * next_cursor}. What is not known is null. The caller owns the result.
 */
struct json *response_pagination_json(const struct pagination *pagination);

/* 204; 404 for ERR_NOT_FOUND, or what response_failure says. */
enum http_progress response_deleted(struct request *r, enum err err);

/* 200 {name: array}, or what response_failure says. Takes array. */
enum http_progress response_list(struct request *r, enum err err, const char *name,
                                 struct json *array);

typedef struct json *response_row_json(const struct request *r, const struct pg_result *rows,
                                       size_t row);

/* The same with the rows of a statement, each as row_json says. */
enum http_progress response_rows(struct request *r, const char *name, const char *sql,
                                 const struct pg_params *params, response_row_json *row_json);

/* 204 No Content. */
enum http_progress response_no_content(struct request *r);

/*
 * Content negotiation (RFC 9110 section 12.5.1). Pure. Writes the index of the offered type
 * ("text/csv") that accept prefers; ties go to the first one. Parameters other than q are ignored. If
 * accept is NULL or empty, picks the first. ERR_NOT_FOUND: accept excludes every offered type.
 */
enum err response_choose_type(const char *accept, const char *const *offered, size_t count,
                              size_t *chosen) MUST_CHECK;

/*
 * True if Accept allows application/json, or of a change application/problem+json: generated clients
 * ask for nothing else where a success has no body. If false, the response is already complete (406).
 */
bool response_accepts_json(struct request *r);

/*
 * kind: the last segment of the problem's type; NULL: that of the status (http_problem.h). detail: a
 * sentence for the reader.
 */
enum http_progress response_problem(struct request *r, unsigned status, const char *kind,
                                    const char *detail);

#define RESPONSE_DETAIL_SIZE 1024

/* Writes "Invalid request: slug: is reserved; tags/1: is given twice." After 3: "; and 2 more". */
void response_fields_detail(const struct http_problem_fields *fields,
                            char out[static RESPONSE_DETAIL_SIZE]);

/* 400 "validation". The detail says what is wrong, and "errors" has every field. */
enum http_progress response_invalid_fields(struct request *r,
                                           const struct http_problem_fields *fields);

/*
 * 409 about one field, whose code is the kind. detail is a phrase that follows the field's name
 * ("is already used"), or a whole sentence.
 */
enum http_progress response_conflict(struct request *r, const char *kind, const char *pointer,
                                     const char *detail);

/* The same with another code. */
enum http_progress response_conflict_of(struct request *r, const char *kind, const char *pointer,
                                        const char *code, const char *detail);

/* The ETag of a resource at this version. False: the response is complete (500). */
bool response_add_etag(struct request *r, int64_t version);

/* False: If-Match is no list of entity tags, and the response is complete (400). */
bool response_if_match_is_valid(struct request *r);

/* 412 "stale" with the ETag of the current version. what: "link" */
enum http_progress response_stale(struct request *r, int64_t version, const char *what);

/*
 * 401 with WWW-Authenticate; the kind says which credentials are missing, wrong or expired
 * (r->credentials).
 */
enum http_progress response_unauthorized(struct request *r, enum request_auth login);

/* 404 "not-found". The response is the same for a missing resource and for one that belongs to another user. */
enum http_progress response_not_found(struct request *r);

/*
 * The same for a link, "link-not-found" or "link-deleted". is_deleted: it is DELETED, and the caller may see it. The response then says
 * how to restore it.
 */
enum http_progress response_link_not_found(struct request *r, bool is_deleted);

/*
 * 403 for links of another workspace. The detail says whether an administrator's access token would
 * help, or the caller is no administrator.
 */
enum http_progress response_other_workspace(struct request *r);

/*
 * 403 "key-limited": the API key is limited to tags, and detail, a sentence, says what this request
 * would do beyond them.
 */
enum http_progress response_key_limited(struct request *r, const char *detail);

/* Adds RateLimit and RateLimit-Policy to the response; nothing for an unlimited rule. */
void response_add_limit(struct request *r, const struct rate_limit_rule *rule,
                        const struct rate_limit_state *state);

/* Adds Retry-After to the response that follows. */
void response_add_retry_after(struct request *r, int64_t seconds);

/*
 * Writes the rule's detail with the name, size and window of the limit, and how long until there is
 * some of it again: reset_s seconds.
 */
void response_limit_detail(const struct rate_limit_rule *rule, int64_t reset_s,
                           char out[static RESPONSE_DETAIL_SIZE]);

/* 429 with RateLimit, RateLimit-Policy and Retry-After. The detail names the limit. */
enum http_progress response_rate_limited(struct request *r, const struct rate_limit_rule *rule,
                                         int64_t reset_s);

/* For a failed store: 503 with Retry-After, or 500. Logs err with the request id. */
enum http_progress response_failure(struct request *r, enum err err);

#endif
