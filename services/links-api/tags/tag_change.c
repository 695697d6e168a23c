#include "services/links-api/tags/tag_change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/account_rate.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/links/bulk_update_store.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_change.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/tag_request.h"
#include "services/links-api/tags/tag_store.h"

#define PATH_PREFIX "/api/tags/"

/* One request: its input and its results. About 450 KB. */
struct tag_change {
	struct request *request;
	/* Of the path. */
	char name[LINK_TAG_SIZE];
	struct tag_request edit;
	bool is_removal;

	/* Of the links that have the tag. */
	int64_t ids[TAG_CHANGE_LINKS_MAX + 1];
	size_t count;
	/* Of one part. */
	struct bulk_update_store_change *changes;
	char slugs[TAG_CHANGE_LINKS_MAX][SLUG_SIZE];
	struct link_audit_bulk audit;
	size_t changed;
	char color[TAG_COLOR_SIZE];
	bool is_over, is_rate_limited, has_too_many_colors;
};

static bool is_renamed(const struct tag_change *change)
{
	return change->edit.has_name && strcmp(change->edit.name, change->name) != 0;
}

static const char *name_after(const struct tag_change *change)
{
	return change->edit.has_name ? change->edit.name : change->name;
}

/* --- in the transaction --- */

static enum err find_links(struct tag_change *change, struct pg_conn *conn)
{
	bool needs_all = change->is_removal || is_renamed(change);
	enum err err = bulk_update_store_find_tagged(conn, change->request->user_id, change->name,
	                                             needs_all ? TAG_CHANGE_LINKS_MAX + 1 : 1,
	                                             change->ids, &change->count);
	if (err == OK && change->count == 0)
		return ERR_NOT_FOUND;
	change->is_over = change->count > TAG_CHANGE_LINKS_MAX;
	return err == OK && change->is_over ? ERR_LIMIT : err;
}

/* A link that lost the tag since find_links stays as it is. */
static size_t retag(const struct tag_change *change, size_t locked)
{
	const char *to = change->is_removal ? NULL : name_after(change);
	size_t kept = 0;
	for (size_t i = 0; i < locked; i++) {
		struct bulk_update_store_change *next = &change->changes[i];
		if (!link_change_retag(&next->link, change->name, to))
			continue;
		next->change = LINK_CHANGE_UPDATED;
		if (kept != i)
			change->changes[kept] = *next;
		kept++;
	}
	return kept;
}

static enum err change_part(struct tag_change *change, struct pg_conn *conn, const int64_t *ids,
                            size_t count)
{
	size_t locked;
	enum err err = bulk_update_store_lock(conn, ids, count, change->changes, &locked);
	if (err != OK)
		return err;
	size_t kept = retag(change, locked);
	for (size_t i = 0; i < kept; i++) {
		const struct link *link = &change->changes[i].link;
		memcpy(change->slugs[change->changed++], link->entry.slug, SLUG_SIZE);
		link_audit_bulk_include(&change->audit, link->entry.id);
	}
	return bulk_update_store_write(conn, change->changes, kept);
}

/* In parts, in the order of ids, which bounds the memory. */
static enum err change_links(struct tag_change *change, struct pg_conn *conn)
{
	enum err err = OK;
	change->is_rate_limited = !account_rate_take_bulk(change->request, (int64_t)change->count);
	if (change->is_rate_limited)
		return ERR_LIMIT;
	change->changes = mem_array(BULK_UPDATE_STORE_MAX, sizeof(*change->changes));
	for (size_t at = 0; err == OK && at < change->count; at += BULK_UPDATE_STORE_MAX) {
		size_t left = change->count - at;
		err = change_part(change, conn, &change->ids[at],
		                  left < BULK_UPDATE_STORE_MAX ? left : BULK_UPDATE_STORE_MAX);
	}
	return err;
}

static enum err change_color(struct tag_change *change, struct pg_conn *conn)
{
	int64_t owner_id = change->request->user_id;
	enum err err = OK;
	if (change->is_removal)
		return tag_store_set_color(conn, owner_id, change->name, "");
	if (is_renamed(change))
		err = tag_store_move_color(conn, owner_id, change->name, change->edit.name);
	if (err == OK && change->edit.has_color) {
		err = tag_store_set_color(conn, owner_id, name_after(change), change->edit.color);
		change->has_too_many_colors = err == ERR_CONFLICT;
	}
	return err == OK ? tag_store_get_color(conn, owner_id, name_after(change), change->color)
	                 : err;
}

static enum err audit(const struct tag_change *change, struct pg_conn *conn)
{
	const struct request *r = change->request;
	struct json *details = link_audit_bulk_details(&change->audit);
	json_set_text(details, "tag", change->name);
	if (is_renamed(change))
		json_set_text(details, "new_name", change->edit.name);
	if (change->edit.has_color)
		json_set_text(details, "color", change->edit.color);
	enum err err = audit_store_record(r, conn, change->is_removal ? "tag.delete" : "tag.update",
	                                  AUDIT_STORE_USER, r->user_id, details);
	json_free(details);
	return err;
}

/*
 * The lock of the account serialises its changes of tags, and the creation of its links: a link
 * that is created meanwhile with the old name either changes too, or comes after the change.
 */
static enum err change_in_transaction(void *ctx, struct pg_conn *conn)
{
	struct tag_change *change = ctx;
	enum err err = user_store_lock(conn, change->request->user_id);
	if (err == OK)
		err = find_links(change, conn);
	if (err == OK)
		err = link_history_begin(change->request, conn);
	if (err == OK && (change->is_removal || is_renamed(change)))
		err = change_links(change, conn);
	if (err == OK)
		err = change_color(change, conn);
	if (err == OK && (change->changed > 0 || change->edit.has_color || change->is_removal))
		err = audit(change, conn);
	return err;
}

/* --- after the commit --- */

static void update_cache(const struct tag_change *change)
{
	const char *slugs[BULK_UPDATE_STORE_MAX];
	for (size_t at = 0; at < change->changed;) {
		size_t count = 0;
		while (count < BULK_UPDATE_STORE_MAX && at < change->changed)
			slugs[count++] = change->slugs[at++];
		link_cache_update_bulk(change->request->api, slugs, count);
	}
}

static enum http_progress answer_error(const struct tag_change *change, enum err err)
{
	struct request *r = change->request;
	if (change->is_rate_limited)
		return HTTP_COMPLETE;
	if (change->is_over)
		return response_problem(
			r, 422, "too-many-links",
			"More than 10,000 links have this tag. Nothing was changed; change the tags of "
			"some links first, with PATCH /api/links.");
	if (change->has_too_many_colors)
		return response_conflict(
			r, "state", "/color",
			"Your account already has 1,000 colors. Delete one first.");
	if (err == ERR_NOT_FOUND)
		return response_problem(r, 404, NULL,
		                        "None of your links has this tag. In a path, write the "
		                        "/ of a tag as %2F.");
	if (err == ERR_CONFLICT)
		return response_conflict(r, "state", "",
		                         "some links were modified concurrently; retry");
	return response_failure(r, err);
}

static enum http_progress answer(struct tag_change *change)
{
	struct request *r = change->request;
	if (change->is_removal)
		return response_no_content(r);
	struct json *body = json_new_object();
	json_set_text(body, "name", name_after(change));
	if (*change->color)
		json_set_text(body, "color", change->color);
	else
		json_set_null(body, "color");
	json_set_int(body, "changed", (int64_t)change->changed);
	return response_json(r, 200, body);
}

static enum http_progress run(struct tag_change *change)
{
	struct request *r = change->request;
	const char *segment = http_exchange_path(r->exchange) + strlen(PATH_PREFIX);
	enum err err = tag_request_read_path(segment, change->name);
	if (err == OK)
		err = pg_transaction_run(request_pg(r), change_in_transaction, change);
	if (err != OK)
		return answer_error(change, err);
	update_cache(change);
	return answer(change);
}

static struct tag_change *tag_change_new(struct request *r)
{
	struct tag_change *change = mem_zero(sizeof(*change));
	change->request = r;
	return change;
}

static void tag_change_free(struct tag_change *change)
{
	free(change->changes);
	free(change);
}

/* False: the body is invalid, and the request has been answered. */
static bool read_body(struct tag_change *change)
{
	struct request *r = change->request;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	enum err err = tag_request_read(body, &change->edit, &wrong);
	json_free(body);
	if (err != OK)
		response_invalid_fields(r, &wrong);
	return err == OK;
}

enum http_progress tag_change_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct tag_change *change = tag_change_new(ctx);
	enum http_progress progress = read_body(change) ? run(change) : HTTP_COMPLETE;
	tag_change_free(change);
	return progress;
}

enum http_progress tag_change_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct tag_change *change = tag_change_new(ctx);
	change->is_removal = true;
	enum http_progress progress = run(change);
	tag_change_free(change);
	return progress;
}
