#include "services/links-api/destinations/host_handlers.h"

#include "lib/postgres/pg_transaction.h"
#include "services/links-api/destinations/host_request.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"

static struct json *host_json(const struct blocked_host *host)
{
	struct json *object = json_new_object();
	json_set_int(object, "id", host->id);
	json_set_text(object, "host", host->host);
	json_set_bool(object, "with_subdomains", host->with_subdomains);
	json_set_text(object, "reason", host->reason);
	json_set_time(object, "created_at", host->created_at_us);
	return object;
}

static void append_host(void *ctx, const struct blocked_host *host)
{
	json_append(ctx, host_json(host));
}

enum http_progress host_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct json *hosts = json_new_array();
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = blocked_host_store_list(conn, append_host, hosts);
	pg_pool_release(r->api->pg, conn);
	return response_list(r, err, "hosts", hosts);
}

struct host_change {
	const struct request *request;
	/* Input: the host to block, or the id; output: the stored row. */
	struct blocked_host *host;
};

/* Refreshes this process's host guard before responding. */
static enum err change(const struct request *r, pg_transaction_work write,
                       struct blocked_host *host)
{
	struct host_change work = { r, host };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = pg_transaction_on(conn, write, &work);
	if (err == OK)
		host_guard_refresh(r->api->hosts, conn);
	pg_pool_release(r->api->pg, conn);
	return err;
}

static enum err audit(const struct host_change *host_change, struct pg_conn *conn,
                      const char *action)
{
	struct json *details = json_new_object();
	json_set_text(details, "host", host_change->host->host);
	json_set_bool(details, "with_subdomains", host_change->host->with_subdomains);
	if (host_change->host->reason[0] != '\0')
		json_set_text(details, "reason", host_change->host->reason);
	enum err err = audit_store_record(host_change->request, conn, action, AUDIT_STORE_HOST,
	                                  host_change->host->id, details);
	json_free(details);
	return err;
}

static enum err add_on(void *ctx, struct pg_conn *conn)
{
	const struct host_change *host_change = ctx;
	enum err err = blocked_host_store_add(conn, host_change->host);
	return err == OK ? audit(host_change, conn, "host.block") : err;
}

static enum err delete_on(void *ctx, struct pg_conn *conn)
{
	const struct host_change *host_change = ctx;
	enum err err = blocked_host_store_delete(conn, host_change->host);
	return err == OK ? audit(host_change, conn, "host.unblock") : err;
}

enum http_progress host_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	struct blocked_host host;
	struct http_problem_fields wrong = { 0 };
	enum err err = host_request_read(body, &host, &wrong);
	json_free(body);
	if (err != OK)
		return response_invalid_fields(r, &wrong);
	err = change(r, add_on, &host);
	if (err == ERR_CONFLICT)
		return response_conflict(r, "host-taken", "/host", "is already blocked");
	if (err == ERR_INVALID)
		return response_conflict(
			r, "too-many-hosts", "",
			"The list of blocked hosts is full. Use BLOCKED_HOSTS_FILE.");
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	json_set(response, "host", host_json(&host));
	return response_json(r, 201, response);
}

enum http_progress host_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct blocked_host host = { .id = request_path_id(r) };
	enum err err = change(r, delete_on, &host);
	return response_deleted(r, err);
}
