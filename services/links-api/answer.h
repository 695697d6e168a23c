/*
 * One thread at a time, as its exchange. How links-api answers: JSON, or a problem (RFC 9457). Each function completes
 * the answer and gives HTTP_ANSWERED, so that handlers can end with it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ANSWER_H
#define WAYMARK_SERVICES_LINKS_API_ANSWER_H

#include "lib/base/err.h"
#include "lib/net/http_problem.h"
#include "lib/net/json.h"
#include "services/links-api/rate_limit.h"
#include "services/links-api/request.h"

/* Takes body. What a GET finds is 406 instead, if Accept does not take JSON. */
enum http_progress answer_json(struct request *r, unsigned status, struct json *body);

/* 204. */
enum http_progress answer_nothing(struct request *r);

/* Whether Accept takes JSON; if not, the request has been answered (406). */
bool answer_may_be_json(struct request *r);

/* kind: the end of the problem's type URI, or NULL. detail: a sentence for people. */
enum http_progress answer_problem(struct request *r, unsigned status, const char *kind, const char *detail);

/* 400 with every wrong field. */
enum http_progress answer_wrong_fields(struct request *r, const struct http_problem_fields *fields);

/* 409 about one field. */
enum http_progress answer_conflict(struct request *r, const char *kind, const char *pointer, const char *detail);

/* 401 with WWW-Authenticate. */
enum http_progress answer_login_needed(struct request *r, enum request_login login);

/* The same for what does not exist and for what belongs to somebody else. */
enum http_progress answer_not_found(struct request *r);

/* RateLimit and RateLimit-Policy for whatever answer follows; nothing for a rule without a limit. */
void answer_add_limit(struct request *r, const struct rate_limit_rule *rule, const struct rate_limit_state *state);

/* 429 with RateLimit, RateLimit-Policy and Retry-After. */
enum http_progress answer_limited(struct request *r, const struct rate_limit_rule *rule, int64_t reset_s);

/* What the stores could not do: 503 with Retry-After, or 500. Logged with the request's id. err is not OK. */
enum http_progress answer_failure(struct request *r, enum err err);

#endif
