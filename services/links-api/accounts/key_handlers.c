#include "services/links-api/accounts/key_handlers.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/api_key_store.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/scope.h"
#include "services/links-api/identity/user_store.h"

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
	unsigned scope;
	if (!name)
		return;
	if (scope_parse(name, &scope) != OK)
		http_problem_add_field(wrong, pointer, "choice",
		                       "must be links:read, links:write or stats:read");
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

enum err key_handlers_read_body(const struct json *object, int64_t now_us, struct api_key *out,
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

/* {id, name, scopes, hint, expires_at, last_used_at, created_at}. The caller owns the result. */
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
	return object;
}

static enum err audit_creation(const struct request *r, struct pg_conn *conn,
                               const struct api_key *key)
{
	char scopes[SCOPE_LIST_SIZE];
	scope_join(key->scopes, scopes);
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

/* Locks the account, so that two concurrent requests cannot exceed the limit of keys. */
static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct creation *c = ctx;
	enum err err = user_store_lock(conn, c->request->user_id);
	if (err == OK)
		err = api_key_store_create(conn, &c->wanted, &c->secret, &c->created);
	return err == OK ? audit_creation(c->request, conn, &c->created) : err;
}

static enum http_progress send_created(struct request *r, const struct creation *c)
{
	struct json *response = json_new_object();
	json_set(response, "key", key_json(&c->created));
	json_set_text(response, "secret", c->secret.text);
	return response_json(r, 201, response);
}

enum http_progress key_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct creation creation = { .request = r };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	enum err err = key_handlers_read_body(body, request_now_us(r), &creation.wanted, &wrong);
	json_free(body);
	if (err != OK)
		return response_invalid_fields(r, &wrong);
	creation.wanted.user_id = r->user_id;
	secret_generate(SECRET_API_KEY, &creation.secret);
	err = pg_transaction_run(r->api->pg, create_on, &creation);
	if (err == ERR_INVALID)
		return response_conflict(
			r, "too-many-keys", "",
			"This account already has 100 API keys. Delete one first.");
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return err == OK ? send_created(r, &creation) : response_failure(r, err);
}

enum http_progress key_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct api_key *keys = mem_array(API_KEY_STORE_KEYS_MAX, sizeof(*keys));
	size_t count = 0;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = api_key_store_list(conn, r->user_id, keys, &count);
	pg_pool_release(r->api->pg, conn);
	struct json *array = json_new_array();
	for (size_t i = 0; i < count; i++)
		json_append(array, key_json(&keys[i]));
	free(keys);
	return response_list(r, err, "keys", array);
}

static enum err delete_on(void *ctx, struct pg_conn *conn)
{
	const struct request *r = ctx;
	int64_t id = request_path_id(r);
	enum err err = api_key_store_delete(conn, r->user_id, id);
	return err == OK ? audit_store_record(r, conn, "key.delete", AUDIT_STORE_KEY, id, NULL)
	                 : err;
}

enum http_progress key_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	enum err err = pg_transaction_run(r->api->pg, delete_on, r);
	return response_deleted(r, err);
}
