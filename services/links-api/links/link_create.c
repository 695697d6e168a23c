#include "services/links-api/links/link_create.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/visit_limit.h"
#include "services/links-api/http/etag.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/password_job.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/links/idempotency.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_conflict.h"
#include "services/links-api/links/link_details.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/links/link_notes_store.h"
#include "services/links-api/links/link_quota.h"
#include "services/links-api/links/link_request.h"
#include "services/links-api/links/link_reuse_store.h"
#include "services/links-api/links/link_zone.h"
#include "services/links-api/links/slug_allocator.h"

#define KEY_NEEDS_TAG "A new link must have a tag of this API key."

/* One POST that creates a link. Each try of the transaction sets the fields from claim_token on. */
struct creation {
	struct password_job job;
	struct request *request;
	/* See invalid_fields; only a stored response can still succeed. */
	bool is_invalid;
	struct http_problem_fields invalid_fields;
	struct link_request input;
	/* Of a link of nobody. */
	struct secret claim_token;
	struct link link;
	struct link_details details;
	/* The link existed before. */
	bool is_reused;
	/* Names that other links have. */
	struct link_conflict conflict;
	/* Of link_create_unless_taken; NULL = that is a conflict. */
	bool *is_taken;
	/* In Redis, reserved before the commit. */
	struct link_cache_reservation place;
	/* Of the user or of the network. */
	struct link_quota quota;
};

static void creation_clear(void *state)
{
	struct creation *c = state;
	link_request_clear(&c->input);
	link_details_clear(&c->details);
}

/* NULL: the body is not JSON or a store failed, and the request has been answered. */
static struct creation *creation_new(struct request *r, enum link_request_kind kind)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct creation *c = password_job_new(r, sizeof(*c));
	c->job.clear = creation_clear;
	c->request = r;
	enum err err = link_request_read(body, kind, r->api->base, request_now_us(r), &c->input,
	                                 &c->invalid_fields);
	json_free(body);
	if (err == OK)
		err = link_zone_fill(r, &c->input.extras, &c->invalid_fields);
	c->is_invalid = err == ERR_INVALID;
	if (err == OK || err == ERR_INVALID)
		return c;
	response_failure(r, err);
	password_job_free(c);
	return NULL;
}

/* --- steps of the transaction --- */

/* Of a link of nobody, the response shows none. */
static enum err write_notes(struct creation *c, struct pg_conn *conn)
{
	bool is_changed;
	const char *notes = c->input.notes ? c->input.notes : "";
	link_details_set_new(&c->details, c->request->user_id ? notes : NULL);
	return notes[0] != '\0' ? link_notes_store_set(conn, c->link.entry.id, notes, &is_changed)
	                        : OK;
}

static enum err find_reusable(struct creation *c, struct pg_conn *conn)
{
	const struct link_request *input = &c->input;
	const char *slug = input->members & LINK_REQUEST_SLUG ? input->slug : NULL;
	struct link_reuse_store_lookup wanted = { input->original_url, slug, &c->link, false };
	enum err err =
		link_reuse_store_find(conn, c->request->workspace_id, c->request->tags, &wanted, 1);
	if (err == OK && !wanted.is_found)
		err = ERR_NOT_FOUND;
	if (err == OK)
		link_aliases_want(&c->details.aliases, &c->link);
	return err == OK ? link_details_read(&c->details, c->request, conn, &c->link.entry.id, 1)
	                 : err;
}

/* The slug may also be that of the link which somebody creates with the same external_id now. */
static enum err find_conflict(struct creation *c, struct pg_conn *conn)
{
	const struct link_request *input = &c->input;
	return link_conflict_find(conn, c->request, c->request->workspace_id,
	                          input->members & LINK_REQUEST_SLUG ? input->slug : "",
	                          input->external_id, &c->conflict);
}

/*
 * ERR_INVALID: a link has the external_id. Unlike ERR_CONFLICT, a retry cannot help. One that is
 * created at the same time makes the insert fail, and the transaction runs again.
 */
static enum err check_external_id(struct creation *c, struct pg_conn *conn)
{
	if (c->input.external_id[0] == '\0')
		return OK;
	enum err err = find_conflict(c, conn);
	return err == OK && c->conflict.external_id.is_used ? ERR_INVALID : err;
}

static enum err insert(struct creation *c, struct pg_conn *conn,
                       const struct link_write_new *new_link)
{
	struct slug_allocator_item item = { .requested = *new_link, .link = &c->link };
	enum err err = slug_allocator_create(conn, &item, slug_random);
	if (err == OK && item.err == ERR_CONFLICT) {
		err = find_conflict(c, conn);
		c->conflict.slug.is_used = true;
		return err == OK ? ERR_INVALID : err;
	}
	if (err == OK)
		err = item.err;
	if (err != OK)
		return err;
	err = write_notes(c, conn);
	if (err == OK && c->input.extras.features & LINK_FEATURE_LIMIT) {
		int64_t max_visits = c->input.extras.extras->max_visits;
		err = visit_limit_set(conn, c->link.entry.id, max_visits);
		c->details.of[0].visits_left = max_visits;
	}
	if (err != OK)
		return err;
	return link_audit_add(c->request, conn, LINK_CHANGE_CREATED, &c->link);
}

/* An anonymous creator cannot open /api/links/{id}, and gets no Location. */
static void set_headers(const struct creation *c, struct idempotency_response *response)
{
	const struct request *r = c->request;
	const struct link_entry *entry = &c->link.entry;
	if (r->named_workspace_id)
		snprintf(response->location, sizeof(response->location),
		         "/api/workspaces/%" PRId64 "/links/%" PRId64, r->named_workspace_id,
		         entry->id);
	else if (r->user_id)
		snprintf(response->location, sizeof(response->location), "/api/links/%" PRId64,
		         entry->id);
	etag_format(entry->version, response->etag);
}

/* claim_token: NULL = without. */
static enum err build_response(const struct creation *c, const char *claim_token,
                               struct idempotency *i)
{
	const struct request *r = c->request;
	struct json *body = json_new_object();
	json_set(body, "link",
	         link_json_new(&c->link, &c->details, 0, r->api->base, request_now_us(r)));
	if (claim_token)
		json_set_text(body, "claim_token", claim_token);
	set_headers(c, &i->response);
	return idempotency_set_response(i, c->is_reused ? 200 : 201, body);
}

/* A link to reuse needs no quota: it is looked for even if none is left. */
static enum err execute_own(struct creation *c, struct pg_conn *conn)
{
	const struct link_write_new new_link =
		link_request_new_link(&c->input, c->request->workspace_id);
	enum err err = link_quota_read(c->request, conn, c->input.reuse, &c->quota);
	if (err == OK && c->quota.state.left == 0)
		err = ERR_LIMIT;
	if ((err == OK || err == ERR_LIMIT) && c->input.reuse) {
		enum err found = find_reusable(c, conn);
		c->is_reused = found == OK;
		if (found != ERR_NOT_FOUND)
			return found;
	}
	if (err == OK)
		err = check_external_id(c, conn);
	if (err == OK)
		err = link_history_begin(c->request, conn);
	if (err == OK)
		err = insert(c, conn, &new_link);
	return err == OK ? link_quota_use(c->request, conn, &c->quota, 1) : err;
}

/* The creations of a network are counted outside the transaction: an error returns the quota. */
static enum err execute_public(struct creation *c, struct pg_conn *conn)
{
	struct link_write_new new_link = link_request_new_link(&c->input, 0);
	struct rate_limit *limits = c->request->api->limits;
	char network[CLIENT_IP_NETWORK_SIZE];
	request_network(c->request, network);
	c->quota.rule = rate_limit_rule_of(c->request->api->config, LIMITS_ANONYMOUS_LINKS);
	enum err err = rate_limit_take(limits, &c->quota.rule, network, 1, &c->quota.state);
	if (err != OK)
		return err;
	secret_generate(SECRET_CLAIM, &c->claim_token);
	new_link.expires_at_us = request_now_us(c->request) + LINK_TEMPORARY_LIFETIME_US;
	new_link.claim_token_hash = c->claim_token.hash;
	err = insert(c, conn, &new_link);
	if (err != OK)
		rate_limit_refund(limits, &c->quota.rule, network);
	return err;
}

/* The place in Redis must be reserved before the commit. */
static enum err execute(void *ctx, struct idempotency *i)
{
	struct creation *c = ctx;
	c->is_reused = false;
	c->conflict = (struct link_conflict){ 0 };
	if (c->is_invalid)
		return ERR_INVALID;
	enum err err = c->request->user_id ? execute_own(c, i->conn) : execute_public(c, i->conn);
	if (err == OK)
		err = build_response(c, NULL, i);
	if (err == OK && !c->is_reused)
		err = idempotency_save(i, &c->link.entry.slug, 1);
	/* Only the first response has the claim token: a neighbour could send the same key. */
	if (err == OK && !c->request->user_id)
		err = build_response(c, c->claim_token.text, i);
	char key[SLUG_KEY_SIZE];
	link_key(&c->link.entry, key);
	if (err == OK)
		link_cache_reserve_for_change(c->request->api->cache, key, &c->place);
	return err;
}

/* --- the request --- */

static enum http_progress answer_error(struct creation *c, enum err err)
{
	struct request *r = c->request;
	if (c->is_invalid)
		return response_invalid_fields(r, &c->invalid_fields);
	if (err == ERR_LIMIT && c->quota.rule.name && c->quota.state.left == 0)
		return response_rate_limited(r, &c->quota.rule, c->quota.state.reset_s);
	if (link_conflict_exists(&c->conflict))
		return link_conflict_answer(r, &c->conflict);
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return response_failure(r, err);
}

/* Begin, execute, commit; then publish to Redis before the client hears of it. */
static enum http_progress run(struct creation *c)
{
	struct request *r = c->request;
	struct idempotency i;
	enum http_progress progress;
	if (idempotency_init(&i, r) != OK)
		return HTTP_COMPLETE;
	enum err err = idempotency_run(&i, execute, c);
	if (c->is_taken && c->conflict.external_id.link_id != 0) {
		*c->is_taken = true;
		progress = HTTP_COMPLETE;
	} else if (err != OK) {
		progress = answer_error(c, err);
	} else if (i.state != IDEMPOTENCY_NEW) {
		progress = idempotency_answer(&i);
	} else {
		link_cache_update_link(r->api, &c->place, &c->link);
		response_add_limit(r, &c->quota.rule, &c->quota.state);
		progress = idempotency_send_response(&i);
	}
	idempotency_clear(&i);
	return progress;
}

static enum http_progress pack_and_run(struct creation *c)
{
	struct request *r = c->request;
	enum err err =
		c->is_invalid ? OK
			      : link_extras_request_pack(&c->input.extras, r->default_forward_query,
	                                                 r->default_forward_path);
	c->is_invalid |= err == ERR_LIMIT;
	if (err == ERR_LIMIT)
		http_problem_add_field(&c->invalid_fields, "", "too-many-bytes", "%s",
		                       LINK_EXTRAS_REQUEST_TOO_LARGE);
	else if (err != OK)
		return response_failure(r, err);
	if (c->is_invalid && !http_exchange_header(r->exchange, "Idempotency-Key"))
		return response_invalid_fields(r, &c->invalid_fields);
	return run(c);
}

/* In a password thread. */
static void hash_and_run(void *state)
{
	struct creation *c = state;
	enum err err = link_extras_request_hash(&c->input.extras);
	if (err == OK)
		pack_and_run(c);
	else
		response_failure(c->request, err);
}

static enum http_progress create(struct request *r, enum link_request_kind kind)
{
	struct creation *c = creation_new(r, kind);
	enum http_progress progress = HTTP_COMPLETE;
	if (!c)
		return HTTP_COMPLETE;
	if (!c->is_invalid && !request_sees_tags(r, &c->input.tags))
		progress = response_key_limited(r, KEY_NEEDS_TAG);
	else if (!c->is_invalid && link_extras_request_needs_hash(&c->input.extras))
		return password_job_submit(c, PASSWORD_DOOR_NEW_GUARD, r->user_id, NULL,
		                           hash_and_run);
	else
		progress = pack_and_run(c);
	password_job_free(c);
	return progress;
}

enum http_progress link_create_unless_taken(struct request *r, struct link_request *input,
                                            bool *is_taken)
{
	struct creation *c = password_job_new(r, sizeof(*c));
	enum http_progress progress;
	unsigned members = input->extras.members;
	c->job.clear = creation_clear;
	c->request = r;
	c->input = *input;
	c->is_taken = is_taken;
	*is_taken = false;
	if (request_sees_tags(r, &input->tags))
		progress = pack_and_run(c);
	else
		progress = response_key_limited(r, KEY_NEEDS_TAG);
	/* Without what was only for a new link. */
	free(c->input.extras.packed);
	c->input.extras.packed = NULL;
	c->input.extras.members = members;
	*input = c->input;
	c->input = (struct link_request){ 0 };
	password_job_free(c);
	return progress;
}

enum http_progress link_create_own(void *ctx, struct http_exchange *x)
{
	(void)x;
	return create(ctx, LINK_REQUEST_CREATE);
}

enum http_progress link_create_public(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	if (!r->api->config->anonymous_links)
		return response_problem(r, 403, "anonymous-links-off",
		                        "Links are created only by those who have logged in here.");
	return create(r, LINK_REQUEST_CREATE_PUBLIC);
}
