#include "services/links-api/links/link_handlers.h"

#include <string.h>

#include "lib/links/link_store.h"
#include "lib/links/outbox.h"
#include "lib/links/visit_limit.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/etag.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/identity/password_job.h"
#include "services/links-api/links/handled_link.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/link_notes_store.h"
#include "services/links-api/links/link_write.h"
#include "services/links-api/links/link_zone.h"

/*
 * A response that shows a change also acknowledges it. If the process that wrote the change was
 * killed before it updated Redis, this GET does so first. The place in Redis must be reserved
 * before the link is read.
 */
static enum err reread_if_uncached(const struct request *r, struct pg_conn *conn,
                                   struct handled_link *s)
{
	const char *names[HANDLED_LINK_NAMES_MAX];
	enum err err = outbox_are_cached(conn, names, handled_link_names(s, names), &s->is_cached);
	if (err != OK || s->is_cached)
		return err;
	char key[SLUG_KEY_SIZE];
	link_key(&s->link.entry, key);
	link_cache_reserve(r->api->cache, key, &s->place);
	return handled_link_read(r, conn, s);
}

enum http_progress link_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct handled_link s = { 0 };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = handled_link_read(r, conn, &s);
	if (err == OK)
		err = reread_if_uncached(r, conn, &s);
	pg_pool_release(r->api->pg, conn);
	if (err == OK && !s.is_cached)
		handled_link_update_cache(r, &s);
	return handled_link_answer(r, &s, err);
}

/* --- changes --- */

struct change_context {
	const struct request *request;
	link_change_rule rule;
	/* Of rule. */
	const void *arg;
	/* The new ones; NULL = they stay. */
	const char *notes;
	/* Among those of arg; NULL = none. */
	const struct link_extras_request *extras;
	/* To end; NULL = none. */
	const char *alias;
	struct handled_link *link;
	/* The workspace must not be deleted at the same time. */
	bool needs_workspace;
};

/*
 * Locks the workspace before the link, in the same order as its deletion. A link of nobody needs no
 * lock. The workspace of a DELETED link cannot change in between.
 */
static enum err lock_workspace(const struct change_context *c, struct pg_conn *conn)
{
	const struct request *r = c->request;
	struct handled_link *s = c->link;
	int64_t workspace_id = r->workspace_id;
	enum err err = OK;
	if (request_workspaces(r) == LINK_STORE_ANY_WORKSPACE) {
		err = link_store_get(conn, request_path_id(r), LINK_STORE_ANY_WORKSPACE, &s->link);
		workspace_id = err == OK ? s->link.workspace_id : 0;
	}
	if (err != OK || workspace_id == 0)
		return err;
	err = membership_lock_workspace(conn, workspace_id);
	if (err != ERR_NOT_FOUND)
		return err;
	s->conflict = (struct link_change_conflict){ "", "state",
		                                     "the workspace of the link is deleted" };
	return ERR_CONFLICT;
}

/* A change of the notes alone is a change of the link as well: If-Match protects it. */
static enum err write_notes(const struct change_context *c, struct pg_conn *conn,
                            enum link_change *change)
{
	bool is_changed = false;
	struct handled_link *s = c->link;
	if (!c->notes)
		return OK;
	if (s->link.workspace_id != c->request->workspace_id) {
		s->conflict =
			(struct link_change_conflict){ "/notes", "not-allowed",
			                               "belong to the workspace of the link" };
		return ERR_CONFLICT;
	}
	enum err err = link_notes_store_set(conn, s->link.entry.id, c->notes, &is_changed);
	if (err == OK && is_changed && *change == LINK_CHANGE_NOTHING)
		*change = LINK_CHANGE_UPDATED;
	return err;
}

/* before: the slug that the link had. */
static enum err change_names(const struct change_context *c, struct pg_conn *conn,
                             const struct link_alias *before)
{
	struct handled_link *s = c->link;
	if (c->alias)
		return link_aliases_remove(conn, &s->link, c->alias, &s->ended);
	enum err err = link_aliases_rename(conn, before, &s->link, &s->ended);
	if (err != ERR_LIMIT)
		return err;
	s->conflict = (struct link_change_conflict){
		"/slug", "too-many",
		"would be the link's 21st earlier slug; delete one of its aliases first"
	};
	return ERR_CONFLICT;
}

/* Notes which name another link has. */
static enum err explain(const struct pg_conn *conn, struct handled_link *s, enum err err)
{
	const char *constraint = err == ERR_CONFLICT ? pg_conn_constraint(conn) : "";
	s->is_slug_used = strcmp(constraint, LINK_WRITE_SLUG_KEY) == 0;
	s->is_external_id_used = strcmp(constraint, LINK_WRITE_EXTERNAL_ID_KEY) == 0;
	return err;
}

static enum err write_update(const struct change_context *c, struct pg_conn *conn,
                             enum link_change change, const struct link_alias *before)
{
	struct handled_link *s = c->link;
	enum err err = change_names(c, conn, before);
	if (err == OK)
		err = explain(conn, s, link_write_update(conn, &s->link, &change, 1));
	return err == OK ? link_aliases_add_ended(conn, &s->link, &s->ended) : err;
}

static enum err write_purge(struct pg_conn *conn, struct handled_link *s)
{
	link_aliases_want(&s->details.aliases, &s->link);
	enum err err = link_aliases_read(&s->details.aliases, conn);
	return err == OK ? link_store_purge(conn, &s->link) : err;
}

static enum err write_change(const struct change_context *c, struct pg_conn *conn,
                             enum link_change change, const struct link_alias *before)
{
	struct link *link = &c->link->link;
	enum err err = link_history_begin(c->request, conn);
	if (err == OK)
		err = change == LINK_CHANGE_PURGED ? write_purge(conn, c->link)
		                                   : write_update(c, conn, change, before);
	if (err == OK && c->extras && c->extras->members & LINK_EXTRAS_MAX_VISITS)
		err = visit_limit_set(conn, link->entry.id, c->extras->extras->max_visits);
	if (err == OK && change != LINK_CHANGE_PURGED)
		err = link_history_add_extras(conn, &c->link->before, link, 1);
	return err == OK ? link_audit_add(c->request, conn, change, link) : err;
}

static enum err write_if_changed(const struct change_context *c, struct pg_conn *conn)
{
	const struct request *r = c->request;
	struct handled_link *s = c->link;
	const char *if_match = http_exchange_joined_header(r->exchange, "If-Match");
	enum link_change change = LINK_CHANGE_NOTHING;
	enum err err = link_store_lock(conn, request_path_id(r), request_workspaces(r), &s->link);
	err = request_check_link(r, err, &s->link);
	if (err != OK)
		return err;
	int64_t version = s->link.entry.version;
	struct link_alias before = link_aliases_slug(&s->link.entry);
	link_history_keep_extras(&s->before, &s->link.entry);
	err = c->rule(c->arg, request_now_us(r), &s->link, &change, &s->conflict);
	if (err == ERR_NOT_FOUND)
		return err;
	s->is_stale = !etag_if_match(if_match, version);
	if (s->is_stale) {
		s->link.entry.version = version;
		return ERR_CONFLICT;
	}
	s->is_beyond_key = err == OK && !request_sees_tags(r, &s->link.tags);
	if (s->is_beyond_key)
		return ERR_CONFLICT;
	if (err == OK)
		err = write_notes(c, conn, &change);
	if (err == OK && change != LINK_CHANGE_NOTHING)
		err = write_change(c, conn, change, &before);
	return err == OK && change != LINK_CHANGE_PURGED ? handled_link_read_details(r, conn, s)
	                                                 : err;
}

static enum err change_in_transaction(void *ctx, struct pg_conn *conn)
{
	const struct change_context *c = ctx;
	struct handled_link *s = c->link;
	enum err err = c->needs_workspace ? lock_workspace(c, conn) : OK;
	if (err == OK)
		err = write_if_changed(c, conn);
	char key[SLUG_KEY_SIZE];
	link_key(&s->link.entry, key);
	if (err == OK)
		link_cache_reserve_for_change(c->request->api->cache, key, &s->place);
	return err;
}

static enum err change(struct change_context *context)
{
	const struct request *r = context->request;
	struct handled_link *s = context->link;
	enum err err = pg_pool_transact(r->api->pg, change_in_transaction, context);
	if (err == OK)
		handled_link_update_cache(r, s);
	return err;
}

/* One PATCH. */
struct patch {
	struct password_job job;
	struct link_request changes;
	struct handled_link link;
};

static void patch_clear(void *state)
{
	struct patch *patch = state;
	link_request_clear(&patch->changes);
	handled_link_clear(&patch->link);
}

/* False: the body is invalid or a store failed, and the request has been answered. */
static bool read_changes(struct request *r, struct link_request *out)
{
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	enum err err = link_request_read(body, LINK_REQUEST_CHANGE, r->api->base, request_now_us(r),
	                                 out, &wrong);
	json_free(body);
	if (err == OK)
		err = link_zone_fill(r, &out->extras, &wrong);
	if (err == ERR_INVALID)
		response_invalid_fields(r, &wrong);
	else if (err != OK)
		response_failure(r, err);
	return err == OK;
}

/* Answers; link: zeros, which the caller clears. */
static enum http_progress apply(struct request *r, const struct link_request *changes,
                                struct handled_link *link)
{
	struct change_context context = { r, link_change_edit, changes, .extras = &changes->extras,
		                          .link = link };
	if (changes->members & LINK_REQUEST_NOTES)
		context.notes = changes->notes ? changes->notes : "";
	return handled_link_answer(r, link, change(&context));
}

static enum http_progress apply_patch(struct patch *patch)
{
	return apply(patch->job.request, &patch->changes, &patch->link);
}

enum http_progress link_handlers_apply(struct request *r, const struct link_request *changes)
{
	struct handled_link link = { 0 };
	return response_if_match_is_valid(r) ? apply(r, changes, &link) : HTTP_COMPLETE;
}

/* In a password thread. */
static void hash_and_apply(void *state)
{
	struct patch *patch = state;
	enum err err = link_extras_request_hash(&patch->changes.extras);
	if (err == OK)
		apply_patch(patch);
	else
		response_failure(patch->job.request, err);
}

enum http_progress link_handlers_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	enum http_progress progress = HTTP_COMPLETE;
	struct patch *patch = password_job_new(r, sizeof(*patch));
	patch->job.clear = patch_clear;
	bool is_valid = response_if_match_is_valid(r) && read_changes(r, &patch->changes);
	if (is_valid && link_extras_request_needs_hash(&patch->changes.extras))
		return password_job_submit(patch, PASSWORD_DOOR_NEW_GUARD, r->user_id, NULL,
		                           hash_and_apply);
	if (is_valid)
		progress = apply_patch(patch);
	password_job_free(patch);
	return progress;
}

static enum err read_hard(const char *query, bool *hard, struct http_problem_fields *wrong)
{
	char text[QUERY_PARAMS_TEXT_SIZE] = "false";
	struct query_param param = { .name = "hard", .text = text, .text_size = sizeof(text) };
	enum err err = query_params_read(query, &param, 1, wrong);
	*hard = strcmp(text, "true") == 0;
	if (*hard || strcmp(text, "false") == 0)
		return err;
	http_problem_add_field(wrong, "/hard", "choice", "must be true or false");
	return ERR_INVALID;
}

enum http_progress link_handlers_delete(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct handled_link s = { 0 };
	struct http_problem_fields wrong = { 0 };
	bool hard;
	if (read_hard(http_exchange_query(x), &hard, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	if (!response_if_match_is_valid(r))
		return HTTP_COMPLETE;
	struct change_context context = { r, hard ? link_change_purge : link_change_delete,
		                          .link = &s };
	enum err err = change(&context);
	handled_link_clear(&s);
	return err == OK ? response_no_content(r) : handled_link_answer_error(r, &s, err);
}

enum http_progress link_handlers_restore(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct handled_link s = { 0 };
	if (!response_if_match_is_valid(r))
		return HTTP_COMPLETE;
	struct change_context context = { r, link_change_restore, .link = &s,
		                          .needs_workspace = true };
	enum err err = change(&context);
	return handled_link_answer(r, &s, err);
}

/* --- aliases --- */

/* Before it are digits. */
#define ALIAS_PART "/aliases/"

enum http_progress link_handlers_list_aliases(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct handled_link s = { 0 };
	char short_url[PUBLIC_BASE_SHORT_URL_SIZE];
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = handled_link_read(r, conn, &s);
	pg_pool_release(r->api->pg, conn);
	if (err != OK)
		return handled_link_answer(r, &s, err);
	struct json *aliases = json_new_array();
	for (size_t i = 0; i < s.details.aliases.count; i++) {
		const struct link_alias *alias = &s.details.aliases.rows[i];
		struct json *item = json_new_object();
		public_base_short_url(r->api->base, alias->slug, short_url);
		json_set_text(item, "slug", alias->slug);
		json_set_text(item, "short_url", short_url);
		json_set_time(item, "created_at", alias->created_at_us);
		json_append(aliases, item);
	}
	handled_link_clear(&s);
	struct json *answer = json_new_object();
	json_set(answer, "aliases", aliases);
	return response_json(r, 200, answer);
}

enum http_progress link_handlers_delete_alias(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct handled_link s = { 0 };
	char alias[SLUG_SIZE];
	const char *segment = strstr(http_exchange_path(x), ALIAS_PART) + strlen(ALIAS_PART);
	if (!response_if_match_is_valid(r))
		return HTTP_COMPLETE;
	if (link_request_read_slug_path(segment, alias) != OK)
		return response_not_found(r);
	struct change_context context = { r, link_change_touch, .alias = alias, .link = &s };
	enum err err = change(&context);
	handled_link_clear(&s);
	return err == OK ? response_no_content(r) : handled_link_answer_error(r, &s, err);
}
