#include <stdio.h>
#include <string.h>

#include "lib/links/host_guard.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/destinations/destination_host.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"

/* The host in a URL, or before a port or path. ERR_INVALID: there is none that is certain. */
static enum err parse_host_within(const char *text, struct destination_host *out)
{
	const char *reason = NULL;
	const char *scheme_end = strstr(text, "://");
	const char *begin = scheme_end ? scheme_end + strlen("://") : text;
	size_t authority_len = strcspn(begin, "/?#");
	if (memchr(begin, '@', authority_len))
		return ERR_INVALID;
	size_t len = *begin == '[' ? strcspn(begin, "]") + 1 : strcspn(begin, ":/?#");
	return len <= authority_len ? destination_host_parse(begin, len, out, &reason)
	                            : ERR_INVALID;
}

/* Does not take the host of a URL: a URL names one page, but the block concerns all of the host. */
static void refuse_host(const char *text, const char *reason, struct http_problem_fields *wrong)
{
	struct destination_host host;
	const char *parent = text + (text[0] == '*');
	if (parent[0] == '.' &&
	    destination_host_parse(parent + 1, strlen(parent + 1), &host, &reason) == OK)
		http_problem_add_field(wrong, "/host", "host",
		                       "must be a host; write %s (with_subdomains blocks the "
		                       "hosts below it)",
		                       host.text);
	else if (parse_host_within(text, &host) == OK)
		http_problem_add_field(wrong, "/host", "host",
		                       "must be a host without a scheme, port or path; write %s",
		                       host.text);
	else
		http_problem_add_field(wrong, "/host", "host",
		                       "must be a host name or address like example.com: %s",
		                       reason);
}

static void read_host(const struct json *object, struct blocked_host *out,
                      struct http_problem_fields *wrong)
{
	const char *text = member_text_of(object, "host", true, wrong);
	if (!text)
		return;
	struct destination_host host;
	const char *reason = NULL;
	if (destination_host_parse(text, strlen(text), &host, &reason) != OK) {
		refuse_host(text, reason, wrong);
		return;
	}
	size_t len = strlen(host.text);
	if (host.text[len - 1] == '.')
		len--;
	snprintf(out->host, sizeof(out->host), "%.*s", (int)len, host.text);
}

static void read_with_subdomains(const struct json *object, struct blocked_host *out,
                                 struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "with_subdomains");
	out->with_subdomains = !value || (json_type(value) == JSON_BOOL && json_bool(value));
	if (value && json_type(value) != JSON_BOOL)
		http_problem_add_field(wrong, "/with_subdomains", "type", "must be true or false");
}

static void read_reason(const struct json *object, struct blocked_host *out,
                        struct http_problem_fields *wrong)
{
	const char *reason = member_text_of(object, "reason", false, wrong);
	if (reason && member_is_line(reason, 0, BLOCKED_HOST_REASON_CHARS_MAX, "/reason", wrong))
		snprintf(out->reason, sizeof(out->reason), "%s", reason);
}

enum err host_handlers_read_body(const struct json *object, struct blocked_host *out,
                                 struct http_problem_fields *wrong)
{
	static const char *const names[] = { "host", "with_subdomains", "reason" };
	struct blocked_host read = { 0 };
	member_reject_unknown(object, names, 3, wrong);
	read_host(object, &read, wrong);
	read_with_subdomains(object, &read, wrong);
	read_reason(object, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}

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
		err = host_guard_blocked_list(conn, append_host, hosts);
	pg_pool_release(r->api->pg, conn);
	return response_list(r, err, "hosts", hosts);
}

struct host_change {
	const struct request *request;
	/* Input: the host to block, or the id; output: the stored row. */
	struct blocked_host *host;
};

/* Refreshes this process's host guard before responding. */
static enum err change(const struct request *r, pg_pool_work write, struct blocked_host *host)
{
	struct host_change work = { r, host };
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = pg_pool_transact_on(conn, write, &work);
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
	enum err err = host_guard_blocked_add(conn, host_change->host);
	return err == OK ? audit(host_change, conn, "host.block") : err;
}

static enum err delete_on(void *ctx, struct pg_conn *conn)
{
	const struct host_change *host_change = ctx;
	enum err err = host_guard_blocked_delete(conn, host_change->host);
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
	enum err err = host_handlers_read_body(body, &host, &wrong);
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
