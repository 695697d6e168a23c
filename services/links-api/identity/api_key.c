#include "services/links-api/identity/api_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/membership.h"

/* --- scopes --- */

/* In bit order: name i has the bit 1U << i. */
static const char *const scope_names[SCOPE_COUNT] = {
	"links:read",     "links:write",     "stats:read", "visits:read",
	"shares:read",    "shares:write",    "keys:read",  "keys:write",
	"workspace:read", "workspace:write", "admin:read", "admin:write",
};

static unsigned find_scope(const char *name, size_t len)
{
	for (unsigned i = 0; i < SCOPE_COUNT; i++)
		if (strlen(scope_names[i]) == len && memcmp(scope_names[i], name, len) == 0)
			return 1U << i;
	return 0;
}

void api_key_join_scopes(unsigned scopes, char out[static SCOPE_LIST_SIZE])
{
	size_t len = 0;
	out[0] = '\0';
	for (unsigned i = 0; i < SCOPE_COUNT; i++) {
		if (!(scopes & (1U << i)))
			continue;
		snprintf(out + len, SCOPE_LIST_SIZE - len, "%s%s", len > 0 ? "," : "",
		         scope_names[i]);
		len = strlen(out);
	}
}

static unsigned split_scopes(const char *list)
{
	unsigned scopes = 0;
	while (*list) {
		size_t len = strcspn(list, ",");
		scopes |= find_scope(list, len);
		list += len;
		list += strspn(list, ",");
	}
	return scopes;
}

/* --- the table api_keys --- */

#define COLUMNS                                                                                    \
	"id, workspace_id, array_to_string(scopes, ','), name, hint, expires_at, last_used_at, "   \
	"created_at, created_by"
#define USE_RESOLUTION_US (60 * CLOCK_US_PER_S)

static void read_row(const struct pg_result *rows, size_t row, struct api_key *out)
{
	out->id = pg_result_int(rows, row, 0);
	out->workspace_id = pg_result_int(rows, row, 1);
	out->scopes = split_scopes(pg_result_text(rows, row, 2));
	snprintf(out->name, sizeof(out->name), "%s", pg_result_text(rows, row, 3));
	snprintf(out->hint, sizeof(out->hint), "%s", pg_result_text(rows, row, 4));
	out->expires_at_us = pg_result_time(rows, row, 5);
	out->last_used_at_us = pg_result_time(rows, row, 6);
	out->created_at_us = pg_result_time(rows, row, 7);
	out->created_by = pg_result_int(rows, row, 8);
}

static enum err query_one(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                          struct api_key *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		read_row(rows, 0, out);
	pg_result_free(rows);
	return err;
}

/* The condition on the old time lets one of several requests write: once a minute. */
static enum err mark_used(struct pg_conn *conn, const struct api_key *key, int64_t now_us)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, key->id);
	pg_params_time(&params, now_us);
	pg_params_time_or_null(&params, key->last_used_at_us);
	return pg_conn_query(conn,
	                     "UPDATE api_keys SET last_used_at = $2 "
	                     "WHERE id = $1 AND last_used_at IS NOT DISTINCT FROM $3",
	                     &params, NULL);
}

enum err api_key_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE], int64_t now_us,
                     struct api_key *out)
{
	struct pg_params params = { 0 };
	struct api_key key;
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	enum err err = query_one(conn, "SELECT " COLUMNS " FROM api_keys WHERE secret_hash = $1",
	                         &params, &key);
	if (err == OK && key.expires_at_us && key.expires_at_us <= now_us)
		err = ERR_NOT_FOUND;
	if (err == OK && now_us - key.last_used_at_us >= USE_RESOLUTION_US)
		err = mark_used(conn, &key, now_us);
	if (err == OK)
		*out = key;
	return err;
}

static enum err insert(struct pg_conn *conn, const struct api_key *wanted, int64_t sponsor_id,
                       const struct secret *secret, struct api_key *out)
{
	char scopes[SCOPE_LIST_SIZE], hint[API_KEY_HINT_LENGTH + 1];
	int64_t count = 0;
	struct pg_params sponsor = { 0 };
	pg_params_int(&sponsor, sponsor_id);
	enum err err = pg_conn_query_int(conn,
	                                 "SELECT count(*) FROM api_keys k JOIN workspaces w "
	                                 "ON w.id = k.workspace_id WHERE w.sponsor_id = $1",
	                                 &sponsor, &count);
	if (err != OK)
		return err;
	if (count >= API_KEY_KEYS_MAX)
		return ERR_INVALID;
	struct pg_params params = { 0 };
	api_key_join_scopes(wanted->scopes, scopes);
	snprintf(hint, sizeof(hint), "%.*s", API_KEY_HINT_LENGTH, secret->text);
	pg_params_int(&params, wanted->workspace_id);
	pg_params_text(&params, wanted->name);
	pg_params_text(&params, scopes);
	pg_params_text(&params, hint);
	pg_params_bytes(&params, secret->hash, DIGEST_SIZE);
	pg_params_time_or_null(&params, wanted->expires_at_us);
	pg_params_int(&params, wanted->created_by);
	return query_one(
		conn,
		"INSERT INTO api_keys "
		"(workspace_id, name, scopes, hint, secret_hash, expires_at, created_by) "
		"VALUES ($1, $2, string_to_array($3, ','), $4, $5, $6, $7) RETURNING " COLUMNS,
		&params, out);
}

/* --- requests --- */

#define ELLIPSIS "\xe2\x80\xa6"

static void read_name(const struct json *object, struct api_key *out,
                      struct http_problem_fields *wrong)
{
	const char *name = member_text_of(object, "name", true, wrong);
	if (name && member_is_line(name, 1, API_KEY_NAME_CHARS_MAX, "/name", wrong))
		snprintf(out->name, sizeof(out->name), "%s", name);
}

static void read_scope(const struct json *value, size_t index, struct api_key *out,
                       struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	snprintf(pointer, sizeof(pointer), "/scopes/%zu", index);
	const char *name = member_text(value, pointer, wrong);
	unsigned scope = name ? find_scope(name, strlen(name)) : 0;
	if (!name)
		return;
	if (scope == 0)
		http_problem_add_field(wrong, pointer, "choice",
		                       "is no scope; openapi.json has all of them");
	else if (out->scopes & scope)
		http_problem_add_field(wrong, pointer, "duplicate", "is given twice");
	else
		out->scopes |= scope;
}

static void read_scopes(const struct json *object, struct api_key *out,
                        struct http_problem_fields *wrong)
{
	const struct json *scopes = json_get(object, "scopes");
	size_t count = scopes && json_type(scopes) == JSON_ARRAY ? json_count(scopes) : 0;
	if (!scopes)
		http_problem_add_field(wrong, "/scopes", "required", "is required");
	else if (count < 1 || count > SCOPE_COUNT)
		http_problem_add_field(wrong, "/scopes", "array",
		                       "must be an array of 1 to %d scopes", SCOPE_COUNT);
	else
		for (size_t i = 0; i < count; i++)
			read_scope(json_at(scopes, i), i, out, wrong);
}

enum err api_key_read_body(const struct json *object, int64_t now_us, struct api_key *out,
                           struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name", "scopes", "expires_at" };
	struct api_key read = { 0 };
	member_reject_unknown(object, names, 3, wrong);
	read_name(object, &read, wrong);
	read_scopes(object, &read, wrong);
	member_future_time_of(object, "expires_at", now_us, &read.expires_at_us, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}

/* {id, name, scopes, hint, expires_at, last_used_at, created_at, created_by}. The caller owns the result. */
static struct json *key_json(const struct api_key *key)
{
	char hint[API_KEY_HINT_LENGTH + sizeof(ELLIPSIS)];
	struct json *scopes = json_new_array();
	for (unsigned i = 0; i < SCOPE_COUNT; i++)
		if (key->scopes & (1U << i))
			json_append_text(scopes, scope_names[i]);
	snprintf(hint, sizeof(hint), "%s" ELLIPSIS, key->hint);

	struct json *object = json_new_object();
	json_set_int(object, "id", key->id);
	json_set_text(object, "name", key->name);
	json_set(object, "scopes", scopes);
	json_set_text(object, "hint", hint);
	json_set_time(object, "expires_at", key->expires_at_us);
	json_set_time(object, "last_used_at", key->last_used_at_us);
	json_set_time(object, "created_at", key->created_at_us);
	json_set_int(object, "created_by", key->created_by);
	return object;
}

static enum err audit_creation(const struct request *r, struct pg_conn *conn,
                               const struct api_key *key)
{
	char scopes[SCOPE_LIST_SIZE];
	api_key_join_scopes(key->scopes, scopes);
	struct json *details = json_new_object();
	json_set_text(details, "scopes", scopes);
	json_set_time(details, "expires_at", key->expires_at_us);
	enum err err = audit_store_record(r, conn, "key.create", AUDIT_STORE_KEY, key->id, details);
	json_free(details);
	return err;
}

struct creation {
	const struct request *request;
	struct api_key wanted, created;
	struct secret secret;
};

/* Locks the sponsor, so that two concurrent requests cannot exceed the limit of keys. */
static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct creation *c = ctx;
	enum err err = membership_lock_workspace(conn, c->request->workspace_id);
	if (err == OK)
		err = insert(conn, &c->wanted, c->request->sponsor_id, &c->secret, &c->created);
	return err == OK ? audit_creation(c->request, conn, &c->created) : err;
}

static enum http_progress send_created(struct request *r, const struct creation *c)
{
	struct json *response = json_new_object();
	json_set(response, "key", key_json(&c->created));
	json_set_text(response, "secret", c->secret.text);
	return response_json(r, 201, response);
}

enum http_progress api_key_handle_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct creation creation = { .request = r };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	enum err err = api_key_read_body(body, request_now_us(r), &creation.wanted, &wrong);
	json_free(body);
	if (err != OK)
		return response_invalid_fields(r, &wrong);
	creation.wanted.workspace_id = r->workspace_id;
	creation.wanted.created_by = r->user_id;
	secret_generate(SECRET_API_KEY, &creation.secret);
	err = pg_pool_transact(r->api->pg, create_on, &creation);
	if (err == ERR_INVALID)
		return response_conflict(
			r, "too-many-keys", "",
			"There are already 100 API keys, in all workspaces of one sponsor. Delete one first.");
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return err == OK ? send_created(r, &creation) : response_failure(r, err);
}

static struct json *row_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	(void)r;
	struct api_key key;
	read_row(rows, row, &key);
	return key_json(&key);
}

enum http_progress api_key_handle_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	struct pg_params params = { 0 };
	pg_params_int(&params, r->workspace_id);
	pg_params_int(&params, API_KEY_KEYS_MAX);
	return response_rows(ctx, "keys",
	                     "SELECT " COLUMNS
	                     " FROM api_keys WHERE workspace_id = $1 ORDER BY id DESC LIMIT $2",
	                     &params, row_json);
}

enum http_progress api_key_handle_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	return response_deleted(
		ctx, audit_store_delete(
			     ctx, request_path_id(ctx), r->workspace_id,
			     "DELETE FROM api_keys WHERE id = $1 AND workspace_id = $2 RETURNING 0",
			     "key.delete", AUDIT_STORE_KEY));
}
