#include "services/links-api/identity/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/http/http_logo.h"
#include "lib/postgres/pg_pool.h"
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
	"w.sponsor_id, s.created_by, s.report_text, s.range, s.logo IS NOT NULL, s.version, "          \
	"s.password_generation FROM shares s JOIN workspaces w ON w.id = s.workspace_id "              \
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
	snprintf(out->text, sizeof(out->text), "%s", pg_result_text(rows, row, 15));
	snprintf(out->range, sizeof(out->range), "%s", pg_result_text(rows, row, 16));
	out->has_logo = pg_result_bool(rows, row, 17);
	out->version = pg_result_int(rows, row, 18);
	out->password_generation = pg_result_int(rows, row, 19);
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

static void add_logo(struct pg_params *params, const struct share_logo *logo)
{
	bool is_there = logo && logo->len > 0;
	pg_params_bytes(params, is_there ? logo->bytes : NULL, is_there ? logo->len : 0);
}

static enum err insert(struct pg_conn *conn, const struct share *wanted,
                       const struct share_logo *logo, const struct secret *token,
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
	pg_params_text(&params, wanted->text);
	pg_params_text(&params, wanted->range);
	add_logo(&params, logo);
	return pg_conn_query_int(
		conn,
		"INSERT INTO shares (workspace_id, link_id, tag, title, token_hash, password_hash, "
		"expires_at, created_by, report_text, range, logo) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id",
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

static enum err read_again(struct pg_conn *conn, int64_t id, struct share *out)
{
	char unused[PASSWORD_HASH_SIZE];
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return query_one(conn, SELECT "WHERE s.id = $1", &params, out, unused);
}

enum err share_create(struct pg_conn *conn, const struct share *wanted,
                      const struct share_logo *logo, const struct secret *token,
                      const char *password_hash, struct share *out)
{
	int64_t id = 0;
	enum err err = share_check_room(conn, wanted->sponsor_id);
	if (err == OK)
		err = insert(conn, wanted, logo, token, password_hash, &id);
	return err == OK ? read_again(conn, id, out) : err;
}

/* Those of the shared link, or the shared one. */
#define SHARED_TAGS "COALESCE((SELECT tags FROM links WHERE links.id = s.link_id), ARRAY[s.tag])"
#define OF_REQUEST "s.id = $1 AND s.workspace_id = $2 AND " REQUEST_SEES_TAGS(SHARED_TAGS, "$3")

static void add_request(struct pg_params *params, const struct request *r)
{
	pg_params_int(params, request_path_id(r));
	pg_params_int(params, r->workspace_id);
	pg_params_text(params, r->tags);
}

enum err share_lock(struct pg_conn *conn, const struct request *r, struct share *out)
{
	char unused[PASSWORD_HASH_SIZE];
	struct pg_params params = { 0 };
	add_request(&params, r);
	return query_one(conn, SELECT "WHERE " OF_REQUEST " FOR UPDATE OF s", &params, out, unused);
}

enum err share_update(struct pg_conn *conn, struct share *share, const struct share_logo *logo,
                      const char *password_hash)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, share->id);
	pg_params_text(&params, share->title);
	pg_params_text(&params, share->text);
	pg_params_text(&params, share->range);
	pg_params_time_or_null(&params, share->expires_at_us);
	pg_params_bool(&params, logo != NULL);
	add_logo(&params, logo);
	pg_params_bool(&params, password_hash != NULL);
	pg_params_text(&params, password_hash && *password_hash ? password_hash : NULL);
	enum err err = pg_conn_query(
		conn,
		"UPDATE shares SET version = version + 1, title = $2, report_text = $3, range = $4, "
		"expires_at = $5, logo = CASE WHEN $6 THEN $7::bytea ELSE logo END, "
		"password_generation = password_generation + $8::boolean::integer, "
		"password_hash = CASE WHEN $8 THEN $9::text ELSE password_hash END WHERE id = $1",
		&params, NULL);
	return err == OK ? read_again(conn, share->id, share) : err;
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
	json_set_text(object, "text", share->text);
	json_set_text(object, "range", *share->range ? share->range : NULL);
	json_set_bool(object, "has_logo", share->has_logo);
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
	json_set_int(object, "version", share->version);
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
 * For readers: {title, text, range, has_logo, link: {slug, short_url, title}, tag, expires_at}. Says nothing of the workspace and
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

/* --- logos --- */

static enum err find_logo(const struct request *r, struct pg_conn *conn, struct share_logo *out)
{
	struct pg_result *rows = NULL;
	struct pg_params params = { 0 };
	const char *sql = "SELECT logo FROM shares WHERE id = $1 AND logo IS NOT NULL";
	if (r->share) {
		pg_params_int(&params, r->share->id);
	} else {
		sql = "SELECT logo FROM shares s WHERE logo IS NOT NULL AND " OF_REQUEST;
		add_request(&params, r);
	}
	enum err err = pg_conn_query(conn, sql, &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		out->len = pg_result_bytes(rows, 0, 0, out->bytes, sizeof(out->bytes));
	pg_result_free(rows);
	return err;
}

/* Shown by the dashboard alone, and as nothing but a picture if it is opened. */
static enum http_progress send_logo(struct request *r, const struct share_logo *logo)
{
	const char *type = http_logo_bitmap_type(logo->bytes, logo->len);
	if (!type)
		return response_failure(r, ERR_INTERNAL);
	http_exchange_add_fixed_header(r->exchange, "Content-Security-Policy",
	                               "default-src 'none'; sandbox");
	http_exchange_set_body(r->exchange, type, logo->bytes, logo->len);
	return HTTP_COMPLETE;
}

enum http_progress share_handle_logo(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	struct share_logo *logo = mem_zero(sizeof(*logo));
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = find_logo(r, conn, logo);
	pg_pool_release(r->api->pg, conn);
	enum http_progress progress;
	if (err == ERR_NOT_FOUND)
		progress = response_not_found(r);
	else
		progress = err == OK ? send_logo(r, logo) : response_failure(r, err);
	free(logo);
	return progress;
}

enum http_progress share_handle_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	return response_json(r, 200, json_for_reader(r->share, r->api->base));
}
