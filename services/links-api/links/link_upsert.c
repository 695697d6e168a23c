#include <stdio.h>
#include <string.h>

#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/password_job.h"
#include "services/links-api/links/link_create.h"
#include "services/links-api/links/link_find.h"
#include "services/links-api/links/link_handlers.h"
#include "services/links-api/links/link_zone.h"

/* A link that appears or goes between the look and the change needs another try. */
#define TRIES_MAX 3

static void refuse(const struct json *body, const char *name, const char *detail,
                   struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	if (!json_get(body, name))
		return;
	snprintf(pointer, sizeof(pointer), "/%s", name);
	http_problem_add_field(wrong, pointer, "not-allowed", "%s", detail);
}

/* One PUT. */
struct upsert {
	struct password_job job;
	struct link_request input;
};

static void upsert_clear(void *state)
{
	link_request_clear(&((struct upsert *)state)->input);
}

/* False: the request is invalid or a store failed, and it has been answered. */
static bool read_request(struct request *r, struct link_request *input)
{
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	enum err err = link_request_read(body, LINK_REQUEST_CREATE, r->api->base, request_now_us(r),
	                                 input, &wrong);
	if (err == OK)
		err = link_zone_fill(r, &input->extras, &wrong);
	refuse(body, "external_id", "is in the path", &wrong);
	refuse(body, "reuse", "cannot be set here: external_id says which link is meant", &wrong);
	json_free(body);
	if (wrong.count == 0 && link_find_read_external_id(r, input->external_id) != OK)
		http_problem_add_field(&wrong, "/external_id", "length",
		                       "must have 1 to %d characters in one segment of the path, "
		                       "percent-encoded",
		                       LINK_EXTERNAL_ID_CHARS_MAX);
	input->members |= LINK_REQUEST_EXTERNAL_ID;
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	else if (err != OK)
		response_failure(r, err);
	return wrong.count == 0 && err == OK;
}

/* Sets named_link_id. ERR_NOT_FOUND: no link that the request sees has the external_id. */
static enum err find(struct request *r, const struct link_request *input)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return ERR_UNAVAILABLE;
	struct link_find_name found = { 0 };
	const char *external_id = input->external_id;
	err = link_find_external_ids(conn, r, r->workspace_id, &external_id, 1, &found);
	pg_pool_release(r->api->pg, conn);
	if (err == OK)
		r->named_link_id = found.link_id;
	return err == OK && found.link_id == 0 ? ERR_NOT_FOUND : err;
}

static enum http_progress run(struct upsert *upsert)
{
	struct request *r = upsert->job.request;
	struct link_request *input = &upsert->input;
	enum http_progress progress = HTTP_COMPLETE;
	bool is_taken = true;
	for (int tries = 0; is_taken && tries < TRIES_MAX; tries++) {
		enum err err = find(r, input);
		if (err == OK)
			return link_handlers_apply(r, input);
		if (err != ERR_NOT_FOUND)
			return response_failure(r, err);
		if (http_exchange_header(r->exchange, "If-Match"))
			return response_problem(r, 412, "stale", "No link has this external_id.");
		progress = link_create_unless_taken(r, input, &is_taken);
	}
	return is_taken ? response_failure(r, ERR_UNAVAILABLE) : progress;
}

/* In a password thread. */
static void hash_and_run(void *state)
{
	struct upsert *upsert = state;
	enum err err = link_extras_request_hash(&upsert->input.extras);
	if (err == OK)
		run(upsert);
	else
		response_failure(upsert->job.request, err);
}

enum http_progress link_upsert(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	enum http_progress progress = HTTP_COMPLETE;
	struct upsert *upsert = password_job_new(r, sizeof(*upsert));
	upsert->job.clear = upsert_clear;
	bool is_valid = read_request(r, &upsert->input);
	if (is_valid && link_extras_request_needs_hash(&upsert->input.extras))
		return password_job_submit(upsert, PASSWORD_DOOR_NEW_GUARD, r->user_id, NULL,
		                           hash_and_run);
	if (is_valid)
		progress = run(upsert);
	password_job_free(upsert);
	return progress;
}
