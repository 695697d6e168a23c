#include "services/links-api/identity/share.h"

#include <stdio.h>

#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"

#define ACTIVE                                                                                     \
	"((s.expires_at IS NULL OR s.expires_at > clock_timestamp()) AND NOT u.blocked AND "       \
	"w.deleted_at IS NULL AND (s.link_id IS NULL OR l.state <> 'DELETED'))"
#define SELECT                                                                                         \
	"SELECT s.id, s.workspace_id, s.link_id, s.tag, s.title, s.password_hash IS NOT NULL, " ACTIVE \
	", s.expires_at, s.last_used_at, s.created_at, l.slug, l.title, s.password_hash, "             \
	"w.sponsor_id, s.created_by FROM shares s JOIN workspaces w ON w.id = s.workspace_id "         \
	"JOIN users u ON u.id = w.sponsor_id LEFT JOIN links l ON l.id = s.link_id "
#define PASSWORD_HASH_COLUMN 12

static void read_row(const struct pg_result *rows, size_t row, struct share *out)
{
	out->id = pg_result_int(rows, row, 0);
	out->workspace_id = pg_result_int(rows, row, 1);
	out->link_id = pg_result_int(rows, row, 2);
	snprintf(out->tag, sizeof(out->tag), "%s", pg_result_text(rows, row, 3));
	snprintf(out->title, sizeof(out->title), "%s", pg_result_text(rows, row, 4));
	out->has_password = pg_result_bool(rows, row, 5);
	out->is_active = pg_result_bool(rows, row, 6);
	out->expires_at_us = pg_result_time(rows, row, 7);
	out->last_used_at_us = pg_result_time(rows, row, 8);
	out->created_at_us = pg_result_time(rows, row, 9);
	snprintf(out->slug, sizeof(out->slug), "%s", pg_result_text(rows, row, 10));
	snprintf(out->link_title, sizeof(out->link_title), "%s", pg_result_text(rows, row, 11));
	out->sponsor_id = pg_result_int(rows, row, 13);
	out->created_by = pg_result_int(rows, row, 14);
}

static enum err query_one(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                          struct share *out, char password_hash[static PASSWORD_HASH_SIZE])
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		read_row(rows, 0, out);
		snprintf(password_hash, PASSWORD_HASH_SIZE, "%s",
		         pg_result_text(rows, 0, PASSWORD_HASH_COLUMN));
	}
	pg_result_free(rows);
	return err;
}

static enum err insert(struct pg_conn *conn, const struct share *wanted, const struct secret *token,
                       const char *password_hash, int64_t *id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, wanted->workspace_id);
	if (wanted->link_id)
		pg_params_int(&params, wanted->link_id);
	else
		pg_params_null(&params);
	pg_params_text(&params, wanted->link_id ? NULL : wanted->tag);
	pg_params_text(&params, wanted->title);
	pg_params_bytes(&params, token->hash, DIGEST_SIZE);
	pg_params_text(&params, *password_hash ? password_hash : NULL);
	pg_params_time_or_null(&params, wanted->expires_at_us);
	pg_params_int(&params, wanted->created_by);
	return pg_conn_query_int(
		conn,
		"INSERT INTO shares "
		"(workspace_id, link_id, tag, title, token_hash, password_hash, expires_at, created_by) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id",
		&params, id);
}

enum err share_check_room(struct pg_conn *conn, int64_t sponsor_id)
{
	int64_t count = 0;
	struct pg_params params = { 0 };
	pg_params_int(&params, sponsor_id);
	enum err err = pg_conn_query_int(conn,
	                                 "SELECT count(*) FROM shares s JOIN workspaces w "
	                                 "ON w.id = s.workspace_id WHERE w.sponsor_id = $1",
	                                 &params, &count);
	return err == OK && count >= SHARE_SHARES_MAX ? ERR_INVALID : err;
}

enum err share_create(struct pg_conn *conn, const struct share *wanted, const struct secret *token,
                      const char *password_hash, struct share *out)
{
	int64_t id = 0;
	enum err err = share_check_room(conn, wanted->sponsor_id);
	if (err == OK)
		err = insert(conn, wanted, token, password_hash, &id);
	if (err != OK)
		return err;
	char unused[PASSWORD_HASH_SIZE];
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return query_one(conn, SELECT "WHERE s.id = $1", &params, out, unused);
}

enum err share_find(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                    struct share *out, char password_hash[static PASSWORD_HASH_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	return query_one(conn, SELECT "WHERE s.token_hash = $1 AND " ACTIVE, &params, out,
	                 password_hash);
}

/* Of several concurrent requests one writes: a busy share costs one write a minute. */
enum err share_mark_used(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query(conn,
	                     "UPDATE shares SET last_used_at = clock_timestamp() WHERE id = $1 AND "
	                     "(last_used_at IS NULL OR last_used_at <= "
	                     "clock_timestamp() - interval '1 minute')",
	                     &params, NULL);
}

/* --- as JSON --- */

/* Members of both forms. */
static void set_subject(struct json *object, const struct share *share, struct json *link,
                        const struct public_base *base)
{
	char short_url[PUBLIC_BASE_SHORT_URL_SIZE];
	json_set_text(object, "title", share->title);
	if (share->link_id) {
		public_base_short_url(base, share->slug, short_url);
		json_set_text(link, "slug", share->slug);
		json_set_text(link, "short_url", short_url);
		json_set_text(link, "title", share->link_title);
		json_set(object, "link", link);
		json_set_null(object, "tag");
	} else {
		json_free(link);
		json_set_null(object, "link");
		json_set_text(object, "tag", share->tag);
	}
}

struct json *share_json(const struct share *share, const struct public_base *base)
{
	struct json *object = json_new_object();
	struct json *link = json_new_object();
	json_set_int(link, "id", share->link_id);
	json_set_int(object, "id", share->id);
	set_subject(object, share, link, base);
	json_set_bool(object, "has_password", share->has_password);
	json_set_bool(object, "active", share->is_active);
	json_set_time(object, "expires_at", share->expires_at_us);
	json_set_time(object, "last_used_at", share->last_used_at_us);
	json_set_time(object, "created_at", share->created_at_us);
	json_set_int(object, "created_by", share->created_by);
	return object;
}

/*
 * For readers: {title, link: {slug, short_url, title}, tag, expires_at}. Says nothing of the workspace and
 * not where the link leads.
 */
static struct json *json_for_reader(const struct share *share, const struct public_base *base)
{
	struct json *object = json_new_object();
	set_subject(object, share, json_new_object(), base);
	json_set_time(object, "expires_at", share->expires_at_us);
	return object;
}

/* --- requests --- */

/* Those of the shared link, or the shared one. */
#define SHARED_TAGS "COALESCE((SELECT tags FROM links WHERE links.id = s.link_id), ARRAY[s.tag])"
#define DELETE "DELETE FROM shares s WHERE id = $1 AND workspace_id = $2"
#define RETURNING_LINK " RETURNING COALESCE(link_id, 0)"

static struct json *row_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	struct share share;
	read_row(rows, row, &share);
	return share_json(&share, r->api->base);
}

enum http_progress share_handle_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	struct pg_params params = { 0 };
	pg_params_int(&params, r->workspace_id);
	pg_params_int(&params, SHARE_SHARES_MAX);
	pg_params_text(&params, r->tags);
	return response_rows(ctx, "shares",
	                     SELECT "WHERE s.workspace_id = $1 AND " REQUEST_SEES_TAGS(
				     SHARED_TAGS, "$3") " ORDER BY s.id DESC LIMIT $2",
	                     &params, row_json);
}

enum http_progress share_handle_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	return response_deleted(ctx, audit_store_delete(ctx, request_path_id(ctx), r->workspace_id,
	                                                r->tags ? DELETE " AND " REQUEST_SEES_TAGS(
									  SHARED_TAGS, "$3")
	                                                                  RETURNING_LINK
	                                                        : DELETE RETURNING_LINK,
	                                                "share.delete", AUDIT_STORE_SHARE));
}

enum http_progress share_handle_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	return response_json(r, 200, json_for_reader(r->share, r->api->base));
}
