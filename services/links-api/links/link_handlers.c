#include "services/links-api/links/link_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_store.h"
#include "lib/links/outbox.h"
#include "lib/net/http_query.h"
#include "lib/net/pg_transaction.h"
#include "services/links-api/accounts/user_store.h"
#include "services/links-api/answer.h"
#include "services/links-api/links/etag.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_change.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/links/link_telling.h"

/* --- one link --- */

/* A link under a handler's hands; about 10 KB. */
struct subject {
	struct link link;
	struct statistics statistics;
	struct link_check check;
	struct link_change_refusal refusal;
	bool is_stale;                       /* If-Match names another version */
	bool is_told;                        /* nothing older is believed where visitors are answered from */
	struct link_cache_reservation place; /* in Redis, from before the commit */
};

static enum http_progress answer_link(struct request *r, const struct subject *s)
{
	char etag[ETAG_SIZE];
	etag_format(s->link.entry.version, etag);
	if (http_exchange_add_header(r->exchange, "ETag", etag) != OK)
		return answer_failure(r, ERR_INTERNAL);
	struct json *answer = json_new_object();
	json_set(answer, "link", link_json_new(&s->link, &s->statistics, &s->check, &r->api->base, request_now_us(r)));
	return answer_json(r, 200, answer);
}

static enum http_progress answer_refused(struct request *r, const struct subject *s, enum err err)
{
	if (s->is_stale)
		return answer_problem(r, 412, "stale", "The link has changed since: its ETag is another one now.");
	if (err == ERR_NOT_FOUND)
		return answer_not_found(r);
	if (err == ERR_CONFLICT)
		return answer_conflict(r, "state", s->refusal.pointer ? s->refusal.pointer : "",
		                       s->refusal.detail ? s->refusal.detail : "it was changed at the same time");
	return answer_failure(r, err);
}

/* What is known of the link beside what it is. */
static enum err read_figures_on(struct pg_conn *conn, struct subject *s)
{
	enum err err = statistics_store_get(conn, s->link.entry.id, &s->statistics);
	return err == OK ? link_check_store_get_many(conn, &s->link.entry.id, 1, &s->check) : err;
}

static enum err read_on(const struct request *r, struct pg_conn *conn, struct subject *s)
{
	enum err err = link_store_get(conn, request_id_of_path(r), request_owner(r), &s->link);
	if (err == OK && s->link.entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	return err == OK ? read_figures_on(conn, s) : err;
}

/*
 * What is shown is as good as acknowledged: a change whose writer was killed between its commit and its telling is told
 * before anybody hears of it. The place has to be reserved before the link is read.
 */
static enum err read_to_tell_on(const struct request *r, struct pg_conn *conn, struct subject *s)
{
	enum err err = outbox_is_told(conn, s->link.entry.slug, &s->is_told);
	if (err != OK || s->is_told)
		return err;
	link_cache_reserve(r->api->cache, s->link.entry.slug, &s->place);
	return read_on(r, conn, s);
}

enum http_progress link_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct subject s = { 0 };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err != OK)
		return answer_failure(r, err);
	err = read_on(r, conn, &s);
	if (err == OK)
		err = read_to_tell_on(r, conn, &s);
	pg_pool_give(r->api->pg, conn);
	if (err == OK && !s.is_told)
		link_telling_finish(r->api, &s.place, &s.link);
	return err == OK ? answer_link(r, &s) : answer_refused(r, &s, err);
}

/* --- changes --- */

static enum err write_down(const struct request *r, struct pg_conn *conn, enum link_change change, struct subject *s)
{
	enum err err = change == LINK_CHANGE_PURGED ? link_store_purge(conn, &s->link)
	                                            : link_store_write(conn, &s->link, change);
	return err == OK ? link_audit_add(r, conn, change, &s->link) : err;
}

struct errand {
	const struct request *request;
	link_change_rule rule;
	const void *arg; /* of rule */
	struct subject *subject;
	bool needs_owner; /* who must not be about to be deleted with all of his links */
};

/*
 * Before the link, as whoever ends an account locks them. A link that nobody owns has none: he cannot be deleted. The
 * owner of a DELETED link stays the same.
 */
static enum err lock_owner(const struct errand *e, struct pg_conn *conn)
{
	const struct request *r = e->request;
	struct subject *s = e->subject;
	int64_t owner_id = r->user_id;
	enum err err = OK;
	if (request_is_admin(r)) {
		err = link_store_get(conn, request_id_of_path(r), LINK_STORE_ANY_OWNER, &s->link);
		owner_id = err == OK ? s->link.owner_id : 0;
	}
	if (err != OK || owner_id == 0)
		return err;
	err = user_store_lock(conn, owner_id);
	if (err != ERR_NOT_FOUND)
		return err;
	s->refusal = (struct link_change_refusal){ "", "its owner's account is deleted" };
	return ERR_CONFLICT;
}

static enum err write_if_changed(const struct errand *e, struct pg_conn *conn)
{
	const struct request *r = e->request;
	struct subject *s = e->subject;
	const char *if_match = http_exchange_header(r->exchange, "If-Match");
	enum link_change change = LINK_CHANGE_NOTHING;
	enum err err = link_store_lock(conn, request_id_of_path(r), request_owner(r), &s->link);
	if (err != OK)
		return err;
	int64_t version = s->link.entry.version;
	err = e->rule(e->arg, request_now_us(r), &s->link, &change, &s->refusal);
	if (err == ERR_NOT_FOUND)
		return err;
	s->is_stale = !etag_if_match(if_match, version);
	if (s->is_stale)
		return ERR_CONFLICT;
	if (err == OK && change != LINK_CHANGE_NOTHING)
		err = write_down(r, conn, change, s);
	return err == OK ? read_figures_on(conn, s) : err;
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	const struct errand *e = ctx;
	struct subject *s = e->subject;
	enum err err = e->needs_owner ? lock_owner(e, conn) : OK;
	if (err == OK)
		err = write_if_changed(e, conn);
	if (err == OK)
		link_cache_reserve_for_change(e->request->api->cache, s->link.entry.slug, &s->place);
	return err;
}

static enum err change(const struct request *r, link_change_rule rule, const void *arg, struct subject *s)
{
	struct errand errand = { r, rule, arg, s, rule == link_change_restore };
	enum err err = pg_transaction_run(r->api->pg, change_on, &errand);
	if (err == OK)
		link_telling_finish(r->api, &s->place, &s->link);
	return err;
}

/* NULL: the request has been answered. */
static struct link_request *read_wish(struct request *r)
{
	struct json *body = request_read_body(r);
	if (!body)
		return NULL;
	struct link_request *wish = mem_zero(sizeof(*wish));
	struct http_problem_fields wrong = { 0 };
	enum err err = link_request_read(body, LINK_REQUEST_CHANGE, &r->api->base, request_now_us(r), wish, &wrong);
	json_free(body);
	if (err == OK)
		return wish;
	answer_wrong_fields(r, &wrong);
	free(wish);
	return NULL;
}

enum http_progress link_handlers_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct subject s = { 0 };
	struct link_request *wish = read_wish(r);
	if (!wish)
		return HTTP_ANSWERED;
	enum err err = change(r, link_change_edit, wish, &s);
	free(wish);
	return err == OK ? answer_link(r, &s) : answer_refused(r, &s, err);
}

/* ERR_INVALID: there is another parameter, or hard is not what it can be. */
static enum err read_hard(const char *query, bool *hard)
{
	char name[8], value[8];
	enum err err = OK;
	*hard = false;
	for (bool is_first = true; err == OK; is_first = false) {
		err = http_query_next(&query, name, sizeof(name), value, sizeof(value));
		if (err == ERR_NOT_FOUND)
			return OK;
		bool is_known = err == OK && is_first && strcmp(name, "hard") == 0;
		*hard = is_known && strcmp(value, "true") == 0;
		if (!is_known || (!*hard && strcmp(value, "false") != 0))
			err = ERR_INVALID;
	}
	return ERR_INVALID;
}

static enum http_progress answer_wrong_hard(struct request *r)
{
	struct http_problem_fields wrong = { 0 };
	http_problem_add_field(&wrong, "/hard", "is the only query parameter here, once, and true or false");
	return answer_wrong_fields(r, &wrong);
}

enum http_progress link_handlers_delete(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct subject s = { 0 };
	bool hard;
	if (read_hard(http_exchange_query(x), &hard) != OK)
		return answer_wrong_hard(r);
	enum err err = change(r, hard ? link_change_purge : link_change_delete, NULL, &s);
	return err == OK ? answer_nothing(r) : answer_refused(r, &s, err);
}

enum http_progress link_handlers_restore(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct subject s = { 0 };
	enum err err = change(r, link_change_restore, NULL, &s);
	return err == OK ? answer_link(r, &s) : answer_refused(r, &s, err);
}
