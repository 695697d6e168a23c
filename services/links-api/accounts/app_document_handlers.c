#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/app_document.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"

struct change {
	const struct request *request;
	const char *name;
	/* JSON; NULL: it ends. */
	const char *body;
	int64_t updated_at_us;
};

static enum err read_document(struct pg_conn *conn, const char *name, struct json **document,
                              int64_t *updated_at_us)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	char reason[JSON_REASON_SIZE];
	pg_params_text(&params, name);
	enum err err = pg_conn_query(
		conn, "SELECT body, updated_at FROM app_documents WHERE name = $1", &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		const char *body = pg_result_text(rows, 0, 0);
		*updated_at_us = pg_result_time(rows, 0, 1);
		err = json_parse(body, strlen(body), document, reason) == OK ? OK : ERR_INTERNAL;
	}
	pg_result_free(rows);
	return err;
}

/* Takes document. */
static enum http_progress send_document(struct request *r, struct json *document,
                                        int64_t updated_at_us)
{
	struct json *response = json_new_object();
	json_set(response, "document", document);
	json_set_time(response, "updated_at", updated_at_us);
	return response_json(r, 200, response);
}

/* False: the response is 404. */
static bool find_kind(struct request *r, enum app_document_kind *kind)
{
	bool is_known = app_document_find(r->match.params[0], kind);
	if (!is_known)
		response_problem(r, 404, "not-found",
		                 "There are two app documents: apple-app-site-association and "
		                 "assetlinks.json.");
	return is_known;
}

enum http_progress app_document_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	struct json *document = NULL;
	enum app_document_kind kind;
	int64_t updated_at_us = 0;
	if (!find_kind(r, &kind))
		return HTTP_COMPLETE;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = read_document(conn, r->match.params[0], &document, &updated_at_us);
	pg_pool_release(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	return err == OK ? send_document(r, document, updated_at_us) : response_failure(r, err);
}

static enum err write_document(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	struct pg_params params = { 0 };
	pg_params_text(&params, c->name);
	if (c->body)
		pg_params_text(&params, c->body);
	enum err err = pg_conn_query_int(
		conn,
		c->body ? "INSERT INTO app_documents (name, body) VALUES ($1, $2) ON CONFLICT (name) "
			  "DO UPDATE SET body = EXCLUDED.body, updated_at = clock_timestamp() "
			  "RETURNING (extract(epoch FROM updated_at) * 1000000)::bigint"
			: "DELETE FROM app_documents WHERE name = $1 RETURNING 0",
		&params, &c->updated_at_us);
	if (err != OK)
		return err;
	struct json *details = json_new_object();
	json_set_text(details, "name", c->name);
	err = audit_store_record(c->request, conn,
	                         c->body ? "app-document.update" : "app-document.delete",
	                         AUDIT_STORE_INSTANCE, 0, details);
	json_free(details);
	return err;
}

enum http_progress app_document_handlers_put(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "document" };
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	enum app_document_kind kind;
	struct json *body = find_kind(r, &kind) ? request_body_read(r) : NULL;
	if (!body)
		return HTTP_COMPLETE;
	struct strbuf text;
	strbuf_init(&text, APP_DOCUMENT_BYTES_MAX);
	member_reject_unknown(body, names, 1, &wrong);
	struct json *document = json_get(body, "document");
	if (!document) {
		http_problem_add_field(&wrong, "/document", "required", "is required");
	} else {
		app_document_check(kind, document, &wrong);
		json_write_exact(document, &text);
		if (strbuf_status(&text) != OK)
			http_problem_add_field(&wrong, "/document", "too-many-bytes",
			                       "must have at most %zu bytes",
			                       APP_DOCUMENT_BYTES_MAX);
	}
	struct change change = { .request = r, .name = r->match.params[0], .body = text.data };
	enum err err = OK;
	if (wrong.count == 0)
		err = pg_pool_transact(r->api->pg, write_document, &change);
	enum http_progress progress =
		wrong.count > 0 ? response_invalid_fields(r, &wrong)
		: err == OK     ? send_document(r, json_share(document), change.updated_at_us)
				: response_failure(r, err);
	strbuf_clear(&text);
	json_free(body);
	return progress;
}

enum http_progress app_document_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	enum app_document_kind kind;
	if (!find_kind(r, &kind))
		return HTTP_COMPLETE;
	struct change change = { .request = r, .name = r->match.params[0] };
	return response_deleted(r, pg_pool_transact(r->api->pg, write_document, &change));
}
