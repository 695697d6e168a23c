#include "services/links-api/identity/user_store.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS                                                                                     \
	"id, email, name, role, created_at, blocked, links_per_day, token_generation, tz, locale, " \
	"theme, email_confirmed_at, totp_confirmed_at IS NOT NULL, "                                \
	"mail_dead_links, mail_monthly_report, workspace_id"
#define PASSWORD_HASH_COLUMN 16

const char *user_store_role_name(enum user_role role)
{
	return role == USER_ROLE_ADMIN ? "admin" : "user";
}

enum err user_store_parse_role(const char *name, enum user_role *role)
{
	if (strcmp(name, "admin") != 0 && strcmp(name, "user") != 0)
		return ERR_INVALID;
	*role = strcmp(name, "admin") == 0 ? USER_ROLE_ADMIN : USER_ROLE_USER;
	return OK;
}

static enum err read_user(const struct pg_result *rows, size_t row, struct user *out)
{
	out->id = pg_result_int(rows, row, 0);
	snprintf(out->email, sizeof(out->email), "%s", pg_result_text(rows, row, 1));
	snprintf(out->name, sizeof(out->name), "%s", pg_result_text(rows, row, 2));
	out->created_at_us = pg_result_time(rows, row, 4);
	out->blocked = pg_result_bool(rows, row, 5);
	out->links_per_day =
		pg_result_is_null(rows, row, 6) ? USER_STORE_NO_QUOTA : pg_result_int(rows, row, 6);
	out->token_generation = pg_result_int(rows, row, 7);
	struct user_settings *settings = &out->settings;
	snprintf(settings->tz, sizeof(settings->tz), "%s", pg_result_text(rows, row, 8));
	snprintf(settings->locale, sizeof(settings->locale), "%s", pg_result_text(rows, row, 9));
	snprintf(settings->theme, sizeof(settings->theme), "%s", pg_result_text(rows, row, 10));
	out->email_confirmed_at_us = pg_result_time(rows, row, 11);
	out->has_second_factor = pg_result_bool(rows, row, 12);
	settings->mail_dead_links = pg_result_bool(rows, row, 13);
	settings->mail_monthly_report = pg_result_bool(rows, row, 14);
	settings->workspace_id = pg_result_int(rows, row, 15);
	return user_store_parse_role(pg_result_text(rows, row, 3), &out->role);
}

/* password_hash may be NULL. */
static enum err query_one(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                          struct user *out, char *password_hash)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = read_user(rows, 0, out);
	if (err == OK && password_hash)
		snprintf(password_hash, PASSWORD_HASH_SIZE, "%s",
		         pg_result_text(rows, 0, PASSWORD_HASH_COLUMN));
	pg_result_free(rows);
	return err;
}

enum err user_store_create(struct pg_conn *conn, const char *email, const char *name,
                           const char *password_hash, struct user *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, email);
	pg_params_text(&params, name);
	pg_params_text(&params, password_hash);
	return query_one(
		conn,
		"INSERT INTO users (email, name, password_hash) VALUES ($1, $2, $3) RETURNING " COLUMNS,
		&params, out, NULL);
}

enum err user_store_get(struct pg_conn *conn, int64_t id, struct user *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return query_one(conn, "SELECT " COLUMNS " FROM users WHERE id = $1 AND deleted_at IS NULL",
	                 &params, out, NULL);
}

enum err user_store_find(struct pg_conn *conn, const char *email, struct user *out,
                         char password_hash[static PASSWORD_HASH_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_text(&params, email);
	return query_one(
		conn, "SELECT " COLUMNS ", password_hash FROM users WHERE lower(email) = lower($1)",
		&params, out, password_hash);
}

enum err user_store_lock(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn, "SELECT id FROM users WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	pg_result_free(rows);
	return err;
}

enum err user_store_lock_for_login(struct pg_conn *conn, int64_t id, int64_t generation)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, generation);
	return pg_conn_query_int(conn,
	                         "SELECT id FROM users WHERE id = $1 AND token_generation = $2 "
	                         "AND NOT blocked AND deleted_at IS NULL FOR NO KEY UPDATE",
	                         &params, &id);
}

static enum err query_quota(struct pg_conn *conn, const char *sql, int64_t id,
                            int64_t *links_per_day)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, USER_STORE_NO_QUOTA);
	return pg_conn_query_int(conn, sql, &params, links_per_day);
}

#define SELECT_QUOTA                                                                               \
	"SELECT COALESCE(links_per_day, $2) FROM users WHERE id = $1 AND deleted_at IS NULL"

enum err user_store_get_quota(struct pg_conn *conn, int64_t id, int64_t *links_per_day)
{
	return query_quota(conn, SELECT_QUOTA, id, links_per_day);
}

enum err user_store_lock_quota(struct pg_conn *conn, int64_t id, int64_t *links_per_day)
{
	return query_quota(conn, SELECT_QUOTA " FOR NO KEY UPDATE", id, links_per_day);
}

enum err user_store_get_with_hash(struct pg_conn *conn, int64_t id, struct user *out,
                                  char password_hash[static PASSWORD_HASH_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return query_one(conn,
	                 "SELECT " COLUMNS
	                 ", password_hash FROM users WHERE id = $1 AND deleted_at IS NULL",
	                 &params, out, password_hash);
}

/* ERR_NOT_FOUND: no row changed. */
static enum err change_one(struct pg_conn *conn, const char *sql, const struct pg_params *params)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_changed(rows) != 1)
		err = ERR_NOT_FOUND;
	pg_result_free(rows);
	return err;
}

/* After an UPDATE of users that is named "changed" and returns id. */
#define END_RESETS                                                                                 \
	", resets AS (DELETE FROM password_resets r USING changed c WHERE r.user_id = c.id), "     \
	"confirmations AS (DELETE FROM email_confirmations e USING changed c "                     \
	"WHERE e.user_id = c.id)"
/* What was offered to whoever knew the old password. */
#define END_OFFER "totp_secret = CASE WHEN totp_confirmed_at IS NOT NULL THEN totp_secret END, "
#define END_SESSIONS(which)                                                                        \
	", ended AS (DELETE FROM sessions s USING changed c WHERE s.user_id = c.id" which ")"

enum err user_store_set_password(struct pg_conn *conn, int64_t id, const char *old_hash,
                                 const char *new_hash)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_text(&params, old_hash);
	pg_params_text(&params, new_hash);
	return pg_conn_query_int(
		conn,
		"WITH changed AS (UPDATE users SET password_hash = $3, token_generation = token_generation + 1, " END_OFFER
		"updated_at = clock_timestamp() WHERE id = $1 AND password_hash = $2 RETURNING id)" END_RESETS
			END_SESSIONS("") " SELECT id FROM changed",
		&params, &id);
}

enum err user_store_set_settings(struct pg_conn *conn, const struct user *user)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user->id);
	pg_params_text(&params, user->name);
	pg_params_text(&params, user->settings.tz);
	pg_params_text(&params, user->settings.locale);
	pg_params_text(&params, user->settings.theme);
	pg_params_bool(&params, user->settings.mail_dead_links);
	pg_params_bool(&params, user->settings.mail_monthly_report);
	pg_params_int(&params, user->settings.workspace_id);
	return change_one(
		conn,
		"UPDATE users SET name = $2, tz = NULLIF($3, ''), locale = NULLIF($4, ''), "
		"theme = $5, mail_dead_links = $6, mail_monthly_report = $7, "
		"workspace_id = NULLIF($8::bigint, 0), updated_at = clock_timestamp() "
		"WHERE id = $1 AND deleted_at IS NULL",
		&params);
}

enum err user_store_set_reset(struct pg_conn *conn, int64_t id, bool is_mailed,
                              const uint8_t token_hash[static DIGEST_SIZE], int64_t lifetime_s,
                              int64_t *expires_at_us)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, id);
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	pg_params_int(&params, lifetime_s);
	pg_params_bool(&params, is_mailed);
	enum err err = pg_conn_query(
		conn,
		"INSERT INTO password_resets (user_id, is_mailed, token_hash, expires_at) "
		"SELECT id, $4, $2, clock_timestamp() + $3::bigint * interval '1 second' FROM users "
		"WHERE id = $1 AND deleted_at IS NULL ON CONFLICT (user_id, is_mailed) DO UPDATE "
		"SET token_hash = EXCLUDED.token_hash, expires_at = EXCLUDED.expires_at "
		"RETURNING expires_at",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		*expires_at_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

#define IS_VALID_RESET "token_hash = $1 AND expires_at > clock_timestamp()"

enum err user_store_find_reset(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                               int64_t *id)
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	return pg_conn_query_int(conn, "SELECT user_id FROM password_resets WHERE " IS_VALID_RESET,
	                         &params, id);
}

enum err user_store_use_reset(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                              const char *new_hash, int64_t *id)
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	pg_params_text(&params, new_hash);
	return pg_conn_query_int(
		conn,
		"WITH used AS (DELETE FROM password_resets WHERE " IS_VALID_RESET
		" RETURNING user_id, is_mailed), changed AS ("
		"UPDATE users SET password_hash = $2, token_generation = token_generation + 1, " END_OFFER
		"email_confirmed_at = CASE WHEN is_mailed THEN COALESCE(email_confirmed_at, clock_timestamp()) "
		"ELSE email_confirmed_at END, "
		"updated_at = clock_timestamp() FROM used WHERE id = used.user_id RETURNING id)" END_RESETS
			END_SESSIONS("") " SELECT id FROM changed",
		&params, id);
}

/* Runs a statement that returns one boolean. ERR_NOT_FOUND: it returned no row. */
static enum err query_bool(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                           bool *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		*out = pg_result_bool(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

#define IS_ACTING_ADMIN "role = 'admin' AND NOT blocked"

enum err user_store_erase(struct pg_conn *conn, int64_t id, const char *hash, bool *was_admin)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_text(&params, hash);
	return query_bool(
		conn,
		"WITH changed AS (UPDATE users SET email = NULL, password_hash = NULL, name = '', "
		"tz = NULL, locale = NULL, theme = 'system', workspace_id = NULL, email_confirmed_at = NULL, totp_secret = NULL, "
		"totp_confirmed_at = NULL, recovery_codes = NULL, deleted_at = clock_timestamp(), "
		"updated_at = clock_timestamp(), token_generation = token_generation + 1 "
		"WHERE id = $1 AND deleted_at IS NULL AND (password_hash = $2 OR $2::text IS NULL) "
		"RETURNING id, " IS_ACTING_ADMIN " AS was_admin)" END_RESETS END_SESSIONS(
			"") ", keys AS (DELETE FROM api_keys k USING changed c WHERE k.created_by = c.id), "
			    "tied AS (DELETE FROM identities i USING changed c WHERE i.user_id = c.id) "
			    "SELECT was_admin FROM changed",
		&params, was_admin);
}

/* For administrators. */

/* A short link, or its last part, finds who made it; if that is unknown, who answers for its workspace. */
#define TYPED_SLUG "substring($1::text FROM '([^/?#]+)(?:[?#].*)?$')"
#define HAS_TYPED_SLUG "slug_key = ANY (ARRAY[lower(" TYPED_SLUG "), '=' || " TYPED_SLUG "])"
#define MAKERS_OF_SEARCH                                                                                     \
	"SELECT coalesce((SELECT id FROM users WHERE id = l.created_by AND deleted_at IS NULL), "            \
	"(SELECT sponsor_id FROM workspaces WHERE id = l.workspace_id)) FROM links l WHERE id = ANY (ARRAY(" \
	"SELECT id FROM links WHERE " HAS_TYPED_SLUG                                                         \
	" UNION ALL SELECT link_id FROM link_aliases WHERE " HAS_TYPED_SLUG "))"
/* Uses position, because LIKE would treat the search text as a pattern. */
#define MATCHES_SEARCH                                                                                 \
	"deleted_at IS NULL AND ($1 = '' OR position(lower($1) IN lower(email || E'\n' || name)) > 0 " \
	"OR id = ANY (ARRAY(" MAKERS_OF_SEARCH ")))"

static enum err read_page(struct pg_conn *conn, const struct user_page *page, struct user *users,
                          size_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_text(&params, page->q);
	pg_params_int(&params, page->limit);
	pg_params_int(&params, page->page > 0 ? (page->page - 1) * page->limit : 0);
	pg_params_int(&params, page->after);
	enum err err = pg_conn_query(conn,
	                             "SELECT " COLUMNS " FROM users WHERE " MATCHES_SEARCH
	                             " AND id > $4 ORDER BY id LIMIT $2 OFFSET $3",
	                             &params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++)
		err = read_user(rows, i, &users[i]);
	if (err == OK)
		*count = pg_result_count(rows);
	pg_result_free(rows);
	return err;
}

enum err user_store_list(struct pg_conn *conn, const struct user_page *page, struct user *users,
                         size_t *count, int64_t *total)
{
	struct pg_params params = { 0 };
	int64_t all = 0;
	pg_params_text(&params, page->q);
	enum err err = pg_conn_query_int(conn, "SELECT count(*) FROM users WHERE " MATCHES_SEARCH,
	                                 &params, &all);
	if (err == OK)
		err = read_page(conn, page, users, count);
	if (err == OK)
		*total = all;
	return err;
}

enum err user_store_change(struct pg_conn *conn, int64_t id, const struct user_change *change,
                           struct user *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_bool(&params, change->has_blocked);
	pg_params_bool(&params, change->blocked);
	pg_params_text(&params, change->has_role ? user_store_role_name(change->role) : NULL);
	pg_params_bool(&params, change->has_links_per_day);
	pg_params_int(&params, change->links_per_day);
	return query_one(
		conn,
		"WITH changed AS (UPDATE users SET blocked = CASE WHEN $2 THEN $3 ELSE blocked END, "
		"role = coalesce($4, role), "
		"links_per_day = CASE WHEN $5 THEN NULLIF($6::bigint, -1) ELSE links_per_day END, "
		"updated_at = clock_timestamp() WHERE id = $1 AND deleted_at IS NULL RETURNING *)" END_SESSIONS(
			" AND c.blocked") " SELECT " COLUMNS " FROM changed",
		&params, out, NULL);
}

/* Locks in order of id, as everywhere, to avoid deadlocks. */
enum err user_store_lock_admin(struct pg_conn *conn, int64_t admin_id, int64_t other_id)
{
	struct pg_params params = { 0 };
	bool is_admin = false;
	pg_params_int(&params, admin_id);
	pg_params_int(&params, other_id);
	enum err err = query_bool(
		conn,
		"SELECT COALESCE(bool_or(id = $1 AND " IS_ACTING_ADMIN "), false) FROM "
		"(SELECT id, role, blocked FROM users WHERE id IN ($1, $2) AND deleted_at IS NULL "
		"ORDER BY id FOR NO KEY UPDATE) AS locked",
		&params, &is_admin);
	return err == OK && !is_admin ? ERR_NOT_FOUND : err;
}

enum err user_store_lock_admins(struct pg_conn *conn, int64_t id, bool *another_remains)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return query_bool(conn,
	                  "SELECT COALESCE(bool_or(id <> $1), false) FROM "
	                  "(SELECT id FROM users WHERE " IS_ACTING_ADMIN " AND deleted_at IS NULL "
	                  "ORDER BY id LIMIT 2 FOR NO KEY UPDATE) AS locked",
	                  &params, another_remains);
}

enum err user_store_make_admin(struct pg_conn *conn, const char *email, struct user *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, email);
	return query_one(
		conn,
		"INSERT INTO users (email, role) VALUES ($1, 'admin') ON CONFLICT (lower(email)) "
		"DO UPDATE SET role = 'admin', blocked = false, updated_at = clock_timestamp() "
		"RETURNING " COLUMNS,
		&params, out, NULL);
}

enum err user_store_has_admin(struct pg_conn *conn, bool *has_admin)
{
	return query_bool(conn,
	                  "SELECT EXISTS (SELECT FROM users WHERE " IS_ACTING_ADMIN
	                  " AND deleted_at IS NULL)",
	                  NULL, has_admin);
}

/* --- as JSON --- */

void user_store_set_links_per_day(struct json *object, int64_t links_per_day)
{
	if (links_per_day == USER_STORE_NO_QUOTA)
		json_set_null(object, "links_per_day");
	else if (links_per_day == ENV_UNLIMITED)
		json_set_text(object, "links_per_day", ENV_UNLIMITED_WORD);
	else
		json_set_int(object, "links_per_day", links_per_day);
}

static void set_text_or_null(struct json *object, const char *name, const char *text)
{
	if (*text)
		json_set_text(object, name, text);
	else
		json_set_null(object, name);
}

static struct json *new_json(const struct user *user)
{
	struct json *object = json_new_object();
	json_set_int(object, "id", user->id);
	json_set_text(object, "email", user->email);
	if (user->email_confirmed_at_us)
		json_set_time(object, "email_confirmed_at", user->email_confirmed_at_us);
	else
		json_set_null(object, "email_confirmed_at");
	json_set_bool(object, "second_factor", user->has_second_factor);
	json_set_text(object, "name", user->name);
	json_set_text(object, "role", user_store_role_name(user->role));
	return object;
}

struct json *user_store_json(const struct user *user)
{
	struct json *object = new_json(user);
	user_store_set_links_per_day(object, user->links_per_day);
	set_text_or_null(object, "tz", user->settings.tz);
	set_text_or_null(object, "locale", user->settings.locale);
	json_set_text(object, "theme", user->settings.theme);
	if (user->settings.workspace_id)
		json_set_int(object, "workspace_id", user->settings.workspace_id);
	else
		json_set_null(object, "workspace_id");
	json_set_bool(object, "mail_dead_links", user->settings.mail_dead_links);
	json_set_bool(object, "mail_monthly_report", user->settings.mail_monthly_report);
	json_set_time(object, "created_at", user->created_at_us);

	struct json *response = json_new_object();
	json_set(response, "user", object);
	return response;
}

struct json *user_store_json_for_admin(const struct user *user)
{
	struct json *object = new_json(user);
	json_set_bool(object, "blocked", user->blocked);
	user_store_set_links_per_day(object, user->links_per_day);
	json_set_time(object, "created_at", user->created_at_us);
	return object;
}
