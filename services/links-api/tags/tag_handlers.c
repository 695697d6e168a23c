#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/statistics_store.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/request.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_change.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/link_request.h"
#include "services/links-api/links/link_write.h"

#define PATH_PART "/tags/"
/* Of a list: those of the most links. */
#define TAGS_MAX 1000
/* Of all workspaces of one sponsor. */
#define COLORS_MAX 1000
/* That have a tag which changes. */
#define LINKS_MAX 10000

/* --- a list --- */

struct tag_count {
	char name[LINK_TAG_SIZE];
	/* "" = none. */
	char color[TAG_COLOR_SIZE];
	/* That are not DELETED. */
	int64_t links;
	/* Visits of these links, of all time. */
	int64_t humans, bots;
};

struct tag_list {
	size_t count;
	int64_t as_of_us, now_us;
	struct tag_count tags[TAGS_MAX];
};

/* The tags of the most links, in byte order. */
static enum err list_tags(const struct request *r, struct pg_conn *conn, struct tag_count *tags,
                          size_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, r->workspace_id);
	pg_params_int(&params, TAGS_MAX);
	pg_params_text(&params, r->tags);
	enum err err = pg_conn_query(
		conn,
		"SELECT most.*, coalesce(color, '') FROM (SELECT tag COLLATE \"C\" AS name, count(*) AS links, "
		"coalesce(sum(visit_count), 0)::bigint, coalesce(sum(bot_count), 0)::bigint "
		"FROM links LEFT JOIN link_statistics ON link_id = id, unnest(tags) AS tag "
		"WHERE workspace_id = $1 AND state <> 'DELETED' AND " REQUEST_SEES_TAGS(
			"tags",
			"$3") " GROUP BY 1 ORDER BY links DESC, name LIMIT $2"
			      ") AS most LEFT JOIN tag_colors ON workspace_id = $1 AND tag = name ORDER BY name",
		&params, &rows);
	*count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < *count; i++) {
		snprintf(tags[i].name, sizeof(tags[i].name), "%s", pg_result_text(rows, i, 0));
		tags[i].links = pg_result_int(rows, i, 1);
		tags[i].humans = pg_result_int(rows, i, 2);
		tags[i].bots = pg_result_int(rows, i, 3);
		snprintf(tags[i].color, sizeof(tags[i].color), "%s", pg_result_text(rows, i, 4));
	}
	pg_result_free(rows);
	return err;
}

/* Reads as_of before the counts: they may include more than as_of promises, but never less. */
static enum err load(const struct request *r, struct tag_list *list)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(request_pg(r), &conn);
	if (err == OK)
		err = statistics_store_as_of(conn, &list->as_of_us);
	if (err == OK)
		err = list_tags(r, conn, list->tags, &list->count);
	pg_pool_release(request_pg(r), conn);
	return err;
}

static struct json *render(const struct tag_list *list)
{
	struct json *tags = json_new_array();
	for (size_t i = 0; i < list->count; i++) {
		const struct tag_count *tag = &list->tags[i];
		struct json *item = json_new_object();
		json_set_text(item, "name", tag->name);
		if (*tag->color)
			json_set_text(item, "color", tag->color);
		else
			json_set_null(item, "color");
		json_set_int(item, "links", tag->links);
		json_set_int(item, "humans", tag->humans);
		json_set_int(item, "bots", tag->bots);
		json_set_int(item, "total", tag->humans + tag->bots);
		json_append(tags, item);
	}
	struct json *answer = json_new_object();
	json_set(answer, "tags", tags);
	response_add_freshness(answer, list->as_of_us, list->now_us);
	return answer;
}

enum http_progress tag_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct tag_list *list = mem_zero(sizeof(*list));
	list->now_us = request_now_us(r);
	enum err err = load(r, list);
	enum http_progress progress =
		err == OK ? response_json(r, 200, render(list)) : response_failure(r, err);
	free(list);
	return progress;
}

/* --- colors: the table tag_colors --- */

static enum err get_color(struct pg_conn *conn, int64_t workspace_id, const char *tag,
                          char color[static TAG_COLOR_SIZE])
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, workspace_id);
	pg_params_text(&params, tag);
	enum err err = pg_conn_query(
		conn, "SELECT color FROM tag_colors WHERE workspace_id = $1 AND tag = $2", &params,
		&rows);
	bool has_color = err == OK && pg_result_count(rows) == 1;
	snprintf(color, TAG_COLOR_SIZE, "%s", has_color ? pg_result_text(rows, 0, 0) : "");
	pg_result_free(rows);
	return err;
}

static enum err delete_color(struct pg_conn *conn, int64_t workspace_id, const char *tag)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, workspace_id);
	pg_params_text(&params, tag);
	return pg_conn_query(conn, "DELETE FROM tag_colors WHERE workspace_id = $1 AND tag = $2",
	                     &params, NULL);
}

/*
 * Sets or, if color is "", deletes the color of a tag. ERR_CONFLICT also: the sponsor's workspaces have
 * COLORS_MAX colors. The sponsor is locked.
 */
static enum err set_color(struct pg_conn *conn, int64_t workspace_id, const char *tag,
                          const char *color)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	if (!*color)
		return delete_color(conn, workspace_id, tag);
	pg_params_int(&params, workspace_id);
	pg_params_text(&params, tag);
	pg_params_text(&params, color);
	pg_params_int(&params, COLORS_MAX);
	enum err err = pg_conn_query(
		conn,
		"INSERT INTO tag_colors (workspace_id, tag, color) SELECT $1, $2, $3 "
		"WHERE (SELECT count(*) FROM tag_colors c JOIN workspaces w ON w.id = c.workspace_id "
		"WHERE w.sponsor_id = (SELECT sponsor_id FROM workspaces WHERE id = $1) "
		"AND (c.workspace_id, c.tag) <> ($1, $2)) < $4 "
		"ON CONFLICT (workspace_id, tag) DO UPDATE SET color = EXCLUDED.color",
		&params, &rows);
	if (err == OK && pg_result_changed(rows) == 0)
		err = ERR_CONFLICT;
	pg_result_free(rows);
	return err;
}

/* Gives the color of one tag to another that has none, and deletes it from the first. */
static enum err move_color(struct pg_conn *conn, int64_t workspace_id, const char *from,
                           const char *to)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, workspace_id);
	pg_params_text(&params, from);
	pg_params_text(&params, to);
	return pg_conn_query(
		conn,
		"WITH moved AS (DELETE FROM tag_colors WHERE workspace_id = $1 AND tag = $2 RETURNING color) "
		"INSERT INTO tag_colors (workspace_id, tag, color) SELECT $1, $3, color FROM moved "
		"ON CONFLICT (workspace_id, tag) DO NOTHING",
		&params, NULL);
}

/* --- a change of a tag --- */

/* One request: its input and its results. About 450 KB. */
struct tag_change {
	struct request *request;
	/* Of the path. */
	char name[LINK_TAG_SIZE];
	struct link_request_tag edit;
	bool is_removal;

	/* Of the links that have the tag. */
	int64_t ids[LINKS_MAX + 1];
	size_t count;
	/* Of one part. */
	struct link *links;
	char slugs[LINKS_MAX][SLUG_SIZE];
	/* Of these links. */
	struct link_aliases aliases;
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

/* The ids of the links, ascending, DELETED ones included. One is enough if only the color changes. */
static enum err find_links(struct tag_change *change, struct pg_conn *conn)
{
	bool needs_all = change->is_removal || is_renamed(change);
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, change->request->workspace_id);
	pg_params_text(&params, change->name);
	pg_params_int(&params, needs_all ? LINKS_MAX + 1 : 1);
	enum err err = pg_conn_query(conn,
	                             "SELECT id FROM links WHERE workspace_id = $1 "
	                             "AND tags @> ARRAY[$2::text] ORDER BY id + 0 LIMIT $3",
	                             &params, &rows);
	change->count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < change->count; i++)
		change->ids[i] = pg_result_int(rows, i, 0);
	pg_result_free(rows);
	if (err == OK && change->count == 0)
		return ERR_NOT_FOUND;
	change->is_over = change->count > LINKS_MAX;
	return err == OK && change->is_over ? ERR_LIMIT : err;
}

/* A link that lost the tag since find_links stays as it is. */
static size_t retag(const struct tag_change *change, size_t locked)
{
	const char *to = change->is_removal ? NULL : name_after(change);
	size_t kept = 0;
	for (size_t i = 0; i < locked; i++) {
		struct link *link = &change->links[i];
		if (!link_change_retag(link, change->name, to))
			continue;
		if (kept != i)
			change->links[kept] = *link;
		kept++;
	}
	return kept;
}

static enum err change_part(struct tag_change *change, struct pg_conn *conn, const int64_t *ids,
                            size_t count)
{
	enum link_change changes[LINK_WRITE_MAX];
	size_t locked;
	enum err err = link_write_lock(conn, ids, count, change->links, &locked);
	if (err != OK)
		return err;
	size_t kept = retag(change, locked);
	for (size_t i = 0; i < kept; i++) {
		const struct link *link = &change->links[i];
		changes[i] = LINK_CHANGE_UPDATED;
		memcpy(change->slugs[change->changed++], link->entry.slug, SLUG_SIZE);
		link_aliases_want(&change->aliases, link);
		link_audit_bulk_include(&change->audit, link->entry.id);
	}
	return link_write_update(conn, change->links, changes, kept);
}

/* In parts, in the order of ids, which bounds the memory. */
static enum err change_links(struct tag_change *change, struct pg_conn *conn)
{
	enum err err = OK;
	change->is_rate_limited =
		!authentication_take_bulk(change->request, (int64_t)change->count);
	if (change->is_rate_limited)
		return ERR_LIMIT;
	change->links = mem_array(LINK_WRITE_MAX, sizeof(*change->links));
	for (size_t at = 0; err == OK && at < change->count; at += LINK_WRITE_MAX) {
		size_t left = change->count - at;
		err = change_part(change, conn, &change->ids[at],
		                  left < LINK_WRITE_MAX ? left : LINK_WRITE_MAX);
	}
	return err;
}

static enum err change_color(struct tag_change *change, struct pg_conn *conn)
{
	int64_t workspace_id = change->request->workspace_id;
	enum err err = OK;
	if (change->is_removal)
		return set_color(conn, workspace_id, change->name, "");
	if (is_renamed(change))
		err = move_color(conn, workspace_id, change->name, change->edit.name);
	if (err == OK && change->edit.has_color) {
		err = set_color(conn, workspace_id, name_after(change), change->edit.color);
		change->has_too_many_colors = err == ERR_CONFLICT;
	}
	return err == OK ? get_color(conn, workspace_id, name_after(change), change->color) : err;
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
	                                  AUDIT_STORE_WORKSPACE, r->workspace_id, details);
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
	enum err err = membership_lock_workspace(conn, change->request->workspace_id);
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

static void update_cache(struct tag_change *change)
{
	const char *slugs[LINK_WRITE_MAX];
	for (size_t at = 0; at < change->changed;) {
		size_t count = 0;
		while (count < LINK_WRITE_MAX && at < change->changed)
			slugs[count++] = change->slugs[at++];
		link_cache_update_bulk(change->request->api, slugs, count);
	}
	link_cache_update_aliases(change->request->api, &change->aliases);
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
			"Your workspaces already have 1,000 colors. Delete one first.");
	if (err == ERR_NOT_FOUND)
		return response_problem(r, 404, "tag-not-found",
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
	/* Before it are the digits of a workspace at most. */
	const char *segment =
		strstr(http_exchange_path(r->exchange), PATH_PART) + strlen(PATH_PART);
	enum err err = link_request_read_tag_path(segment, change->name);
	if (err == OK)
		err = pg_pool_transact(request_pg(r), change_in_transaction, change);
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
	link_aliases_clear(&change->aliases);
	free(change->links);
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
	enum err err = link_request_read_tag(body, &change->edit, &wrong);
	json_free(body);
	if (err != OK)
		response_invalid_fields(r, &wrong);
	return err == OK;
}

/* False: the request has been answered. */
static bool is_allowed(struct request *r)
{
	if (r->tags)
		response_key_limited(r, "A tag belongs to all links of the workspace.");
	return !r->tags;
}

enum http_progress tag_handlers_patch(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct tag_change *change = tag_change_new(ctx);
	enum http_progress progress =
		is_allowed(ctx) && read_body(change) ? run(change) : HTTP_COMPLETE;
	tag_change_free(change);
	return progress;
}

enum http_progress tag_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct tag_change *change = tag_change_new(ctx);
	change->is_removal = true;
	enum http_progress progress = is_allowed(ctx) ? run(change) : HTTP_COMPLETE;
	tag_change_free(change);
	return progress;
}
