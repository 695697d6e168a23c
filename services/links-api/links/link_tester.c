#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/timestamp.h"
#include "lib/links/link_decision.h"
#include "lib/links/link_extras.h"
#include "lib/links/link_forward.h"
#include "lib/links/link_store.h"
#include "lib/links/visit_limit.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/destinations/destination_check.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_extras_request.h"
#include "services/links-api/links/link_rule_words.h"
#include "services/links-api/links/link_zone.h"

#define TEXT_CHARS_MAX 253
#define QUERY_CHARS_MAX 2048

/* One request. The texts of visitor are borrowed from body. */
struct test {
	struct request *request;
	struct json *body;
	struct link_extras_request extras;
	struct link_visitor visitor;
	/* What the link has, or a new one, with what the request says instead. */
	struct link link;
	/* Visits that count for max_visits. */
	int64_t visits_taken;
};

static void test_free(struct test *t)
{
	link_extras_request_clear(&t->extras);
	json_free(t->body);
	free(t);
}

/* --- the request --- */

static const char *read_text(const struct json *visitor, const char *name, size_t max,
                             struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *value = member_or_null(visitor, name);
	member_point(pointer, "/visitor", "/%s", name);
	const char *text = value ? member_text(value, pointer, wrong) : NULL;
	return text && member_is_line(text, 0, max, pointer, wrong) ? text : "";
}

static const char *read_choice(const struct json *visitor, const char *name,
                               const char *const *choices, size_t count, const char *detail,
                               struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const char *text = read_text(visitor, name, TEXT_CHARS_MAX, wrong);
	member_point(pointer, "/visitor", "/%s", name);
	for (size_t i = 0; i < count; i++)
		if (strcmp(text, choices[i]) == 0)
			return text;
	if (text[0])
		http_problem_add_field(wrong, pointer, "choice", "%s", detail);
	return "";
}

/* Leaves *at_us if it is no time, which is reported. */
static void parse_time(const char *text, const char *pointer, int64_t *at_us,
                       struct http_problem_fields *wrong)
{
	int64_t parsed_us;
	if (timestamp_parse(text, &parsed_us) == OK)
		*at_us = parsed_us;
	else
		http_problem_add_field(
			wrong, pointer, "time",
			"must be an RFC 3339 timestamp like 2026-11-20T08:00:00.123Z");
}

static void read_visitor(struct test *t, const struct json *visitor,
                         struct http_problem_fields *wrong)
{
	static const char *const names[] = { "country",  "region", "city",
		                             "device",   "os",     "browser",
		                             "language", "query",  "referrer_host",
		                             "visitor",  "at" };
	static const char *const devices[] = { "desktop", "mobile", "tablet", "bot", "other" };
	static const char *const kinds[] = { "human", "bot" };
	struct link_visitor *out = &t->visitor;
	out->now_us = request_now_us(t->request);
	if (!visitor || json_type(visitor) == JSON_NULL)
		return;
	if (json_type(visitor) != JSON_OBJECT) {
		http_problem_add_field(wrong, "/visitor", "type", "must be an object");
		return;
	}
	member_reject_unknown_at(visitor, "/visitor", names, ARRAY_SIZE(names), wrong);
	out->country = read_text(visitor, "country", TEXT_CHARS_MAX, wrong);
	if (out->country[0] && !link_rule_words_is_country(out->country))
		http_problem_add_field(wrong, "/visitor/country", "country",
		                       "must be a country of ISO 3166-1 like DE or GB");
	out->region = read_text(visitor, "region", TEXT_CHARS_MAX, wrong);
	out->city = read_text(visitor, "city", TEXT_CHARS_MAX, wrong);
	out->device = read_choice(visitor, "device", devices, ARRAY_SIZE(devices),
	                          "must be desktop, mobile, tablet, bot or other", wrong);
	out->os = read_text(visitor, "os", TEXT_CHARS_MAX, wrong);
	out->browser = read_text(visitor, "browser", TEXT_CHARS_MAX, wrong);
	out->language = read_text(visitor, "language", TEXT_CHARS_MAX, wrong);
	out->query = read_text(visitor, "query", QUERY_CHARS_MAX, wrong);
	out->query += out->query[0] == '?';
	out->referrer_host = read_text(visitor, "referrer_host", TEXT_CHARS_MAX, wrong);
	const char *kind = read_choice(visitor, "visitor", kinds, ARRAY_SIZE(kinds),
	                               "must be human or bot", wrong);
	out->is_bot = strcmp(kind, "bot") == 0;
	const char *at = read_text(visitor, "at", TEXT_CHARS_MAX, wrong);
	if (at[0])
		parse_time(at, "/visitor/at", &out->now_us, wrong);
}

/* null stands for none. A member that is missing leaves what the link has. */
static void read_url(const struct test *t, const char *name, bool may_be_app,
                     char out[static LINK_URL_SIZE], struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *value = json_get(t->body, name);
	if (!value)
		return;
	out[0] = '\0';
	if (json_type(value) == JSON_NULL)
		return;
	member_pointer(name, pointer);
	char *url = destination_check(t->request->api->base, value, pointer, may_be_app, wrong);
	if (url)
		snprintf(out, LINK_URL_SIZE, "%s", url);
	free(url);
}

/* As read_url. */
static void read_time(const struct test *t, const char *name, int64_t *at_us,
                      struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *value = json_get(t->body, name);
	if (!value)
		return;
	*at_us = 0;
	member_pointer(name, pointer);
	const char *text =
		json_type(value) == JSON_NULL ? NULL : member_text(value, pointer, wrong);
	if (text)
		parse_time(text, pointer, at_us, wrong);
}

static void read_body(struct test *t, struct http_problem_fields *wrong)
{
	static const char *const names[] = { "link_id",       "original_url", "rules",
		                             "split",         "max_visits",   "starts_at",
		                             "forward_query", "expires_at",   "expired_url",
		                             "visitor" };
	struct link_entry *entry = &t->link.entry;
	member_reject_unknown(t->body, names, ARRAY_SIZE(names), wrong);
	if (member_or_null(t->body, "original_url"))
		read_url(t, "original_url", true, entry->original_url, wrong);
	read_url(t, "expired_url", false, entry->expired_url, wrong);
	read_time(t, "starts_at", &entry->starts_at_us, wrong);
	read_time(t, "expires_at", &entry->expires_at_us, wrong);
	link_extras_request_read(t->body, t->request->api->base, &t->extras, wrong);
	read_visitor(t, json_get(t->body, "visitor"), wrong);
}

static enum err load_link(struct test *t, int64_t link_id)
{
	const struct request *r = t->request;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = link_store_get(conn, link_id, request_workspaces(r), &t->link);
	if (err == OK)
		err = visit_limit_taken(conn, link_id, &t->visits_taken);
	pg_pool_release(r->api->pg, conn);
	err = request_check_link(r, err, &t->link);
	/* The janitor stores EXPIRED; expires_at says when. */
	if (t->link.entry.state == LINK_STATE_EXPIRED)
		t->link.entry.state = LINK_STATE_ACTIVE;
	return err == OK && t->link.entry.state == LINK_STATE_DELETED ? ERR_NOT_FOUND : err;
}

static enum err read_link(struct test *t, struct http_problem_fields *wrong)
{
	const struct json *id = member_or_null(t->body, "link_id");
	bool is_id = id && json_type(id) == JSON_INT && json_int(id) > 0;
	t->link.entry.state = LINK_STATE_ACTIVE;
	enum err err = is_id ? load_link(t, json_int(id)) : OK;
	if (id && !is_id)
		http_problem_add_field(wrong, "/link_id", "id", "must be the id of a link");
	if (err != ERR_NOT_FOUND)
		return err;
	http_problem_add_field(wrong, "/link_id", "id", "must be the id of one of your links");
	return OK;
}

/* ERR_INVALID: wrong says why. */
static enum err prepare(struct test *t, struct http_problem_fields *wrong)
{
	enum err err = read_link(t, wrong);
	if (err != OK)
		return err;
	read_body(t, wrong);
	err = wrong->count > 0 ? ERR_INVALID : link_zone_fill(t->request, &t->extras, wrong);
	if (err == OK)
		err = link_extras_request_apply(&t->extras, &t->link);
	if (err != ERR_LIMIT)
		return err;
	http_problem_add_field(wrong, "", "too-many-bytes", "%s", LINK_EXTRAS_REQUEST_TOO_LARGE);
	return ERR_INVALID;
}

/* --- the decision --- */

static struct json *variants_json(const Waymark__V1__LinkExtras *extras)
{
	struct json *variants = json_new_array();
	double sum = 0;
	for (size_t i = 0; i < extras->n_variants; i++)
		sum += extras->variants[i]->weight;
	for (size_t i = 0; i < extras->n_variants; i++) {
		struct json *variant = json_new_object();
		json_set_text(variant, "name", extras->variants[i]->name);
		json_set_text(variant, "url", extras->variants[i]->url);
		json_set_real(variant, "share", extras->variants[i]->weight / sum);
		json_append(variants, variant);
	}
	return variants;
}

static void set_or_null(struct json *json, const char *name, const char *text)
{
	json_set_text(json, name, text[0] ? text : NULL);
}

/* Where a visitor goes whom no rule and no split decides about. url: "" = nowhere. */
static void set_plain(struct json *json, const char *kind, const char *url)
{
	json_set_text(json, "kind", kind);
	json_set_null(json, "rule");
	json_set_null(json, "variant");
	json_set(json, "variants", json_new_array());
	set_or_null(json, "url", url);
	json_set_null(json, "fallback_url");
}

static void set_ended(struct json *json, const char *expired_url)
{
	set_plain(json, expired_url[0] ? "redirect" : "gone", expired_url);
}

/* Which variant it is, without a winner the visitor's hash decides: then there is none, and no url. */
static void set_decision(struct json *json, const struct test *t,
                         const Waymark__V1__LinkExtras *extras,
                         const struct link_decision *decision)
{
	struct strbuf url;
	bool is_split = decision->variant[0] && !extras->winner[0];
	bool is_gone = decision->kind == LINK_DECISION_GONE;
	strbuf_init(&url, LINK_FORWARD_BYTES_MAX);
	if (!is_split && decision->url[0])
		link_forward_build(decision->url, t->visitor.query ? t->visitor.query : "", "",
		                   extras->forward_query, false, &url);
	json_set_text(json, "kind", is_gone ? "gone" : "redirect");
	set_or_null(json, "rule", decision->rule);
	set_or_null(json, "variant", is_split ? "" : decision->variant);
	json_set(json, "variants", is_split ? variants_json(extras) : json_new_array());
	set_or_null(json, "url", url.data);
	set_or_null(json, "fallback_url", is_split ? "" : decision->fallback_url);
	strbuf_clear(&url);
}

/* As the redirector: first the link's state, then its rules, then how many visits are left. */
static struct json *answer_json(const struct test *t, const Waymark__V1__LinkExtras *extras)
{
	const struct link_entry *entry = &t->link.entry;
	enum link_state state = link_state_at(entry, t->visitor.now_us);
	struct json *json = json_new_object();
	struct link_decision decision;
	int64_t left =
		extras->max_visits > t->visits_taken ? extras->max_visits - t->visits_taken : 0;
	link_decision_take(extras, entry->id, entry->original_url, &t->visitor, &decision);
	bool is_used_up = state == LINK_STATE_ACTIVE && extras->max_visits && left == 0;
	json_set_text(json, "state", is_used_up ? "used_up" : link_state_name(state));
	if (extras->max_visits)
		json_set_int(json, "visits_left", left);
	else
		json_set_null(json, "visits_left");
	if (state == LINK_STATE_EXPIRED || (is_used_up && decision.kind == LINK_DECISION_REDIRECT))
		set_ended(json, entry->expired_url);
	else if (state == LINK_STATE_ACTIVE)
		set_decision(json, t, extras, &decision);
	else
		set_plain(json, "not_found", "");
	return json;
}

static enum http_progress answer(const struct test *t)
{
	const struct link_entry *entry = &t->link.entry;
	Waymark__V1__LinkExtras none = WAYMARK__V1__LINK_EXTRAS__INIT;
	Waymark__V1__LinkExtras *extras =
		entry->extras_len > 0 ? link_extras_open(entry->extras, entry->extras_len) : NULL;
	struct json *json = answer_json(t, extras ? extras : &none);
	link_extras_free(extras);
	return response_json(t->request, 200, json);
}

enum http_progress link_tester_decide(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	struct test *t = mem_zero(sizeof(*t));
	t->request = r;
	t->body = body;
	enum err err = prepare(t, &wrong);
	enum http_progress progress = err == OK            ? answer(t)
	                              : err == ERR_INVALID ? response_invalid_fields(r, &wrong)
	                                                   : response_failure(r, err);
	test_free(t);
	return progress;
}
