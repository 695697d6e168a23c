#include "services/links-api/link_create.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/answer.h"
#include "services/links-api/claim_token.h"
#include "services/links-api/etag.h"
#include "services/links-api/link_audit.h"
#include "services/links-api/link_json.h"
#include "services/links-api/link_request.h"
#include "services/links-api/link_telling.h"
#include "services/links-api/slug_issuer.h"
#include "services/links-api/user_store.h"

#define DEFAULT_REDIRECT_STATUS 302
#define QUOTA_WINDOW_S 86400
#define ANONYMOUS_WINDOW_S 3600
#define LOCATION_SIZE (PUBLIC_BASE_SHORT_URL_SIZE + 32)

/* One link being made. */
struct creation {
	struct request *request;
	struct link_request wish;
	struct claim_token claim_token; /* of anonymous links */
	struct link link;
	struct link_cache_reservation place; /* in Redis, from before the commit */
	int64_t quota_reset_s;               /* more than 0: the owner's quota is used up */
};

static struct rate_limit_rule quota_rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "links",
		.detail = "You have created as many links as you may in 24 hours.",
		.max = r->api->config->links_per_day,
		.window_s = QUOTA_WINDOW_S,
	};
}

static struct rate_limit_rule anonymous_rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "anonymous-links",
		.detail = "Your network has created as many links without a login as it may in an hour.",
		.max = r->api->config->anonymous_links_per_hour,
		.window_s = ANONYMOUS_WINDOW_S,
	};
}

/* NULL: the request has been answered. */
static struct creation *creation_new(struct request *r, enum link_request_kind kind)
{
	struct json *body = request_read_body(r);
	if (!body)
		return NULL;
	struct creation *c = mem_zero(sizeof(*c));
	struct http_problem_fields wrong = { 0 };
	c->request = r;
	enum err err = link_request_read(body, kind, &r->api->base, request_now_us(r), &c->wish, &wrong);
	json_free(body);
	if (err == OK)
		return c;
	answer_wrong_fields(r, &wrong);
	free(c);
	return NULL;
}

static struct link_store_new new_link(const struct creation *c)
{
	const struct link_request *wish = &c->wish;
	bool has_status = wish->members & LINK_REQUEST_REDIRECT_STATUS;
	struct link_store_new new_link = {
		.slug = wish->members & LINK_REQUEST_SLUG ? wish->slug : NULL,
		.original_url = wish->original_url,
		.expired_url = *wish->expired_url ? wish->expired_url : NULL,
		.title = wish->title,
		.tags = &wish->tags,
		.redirect_status = has_status ? wish->redirect_status : DEFAULT_REDIRECT_STATUS,
		.expires_at_us = wish->expires_at_us,
		.owner_id = c->request->user_id,
	};
	if (new_link.owner_id == 0) {
		new_link.expires_at_us = request_now_us(c->request) + LINK_TEMPORARY_LIFE_US;
		new_link.claim_token_hash = c->claim_token.hash;
	}
	return new_link;
}

/*
 * The account stays locked until the commit, so that two requests cannot both be the last one. ERR_LIMIT and
 * quota_reset_s: used up. ERR_NOT_FOUND: the account is gone.
 */
static enum err check_quota(struct creation *c, struct pg_conn *conn)
{
	struct rate_limit_rule rule = quota_rule(c->request);
	int64_t owner_id = c->request->user_id;
	if (owner_id == 0 || rule.max == 0)
		return OK;
	int64_t now_us = request_now_us(c->request);
	int64_t window_us = rule.window_s * CLOCK_US_PER_S;
	int64_t count = 0;
	int64_t oldest_us = 0;
	enum err err = user_store_lock(conn, owner_id);
	if (err == OK)
		err = link_store_count_created(conn, owner_id, now_us - window_us, &count, &oldest_us);
	if (err != OK || count < rule.max)
		return err;
	int64_t left_s = (oldest_us + window_us - now_us) / CLOCK_US_PER_S + 1;
	c->quota_reset_s = left_s > 0 ? left_s : 1;
	return ERR_LIMIT;
}

static enum err create_on(struct creation *c, struct pg_conn *conn)
{
	struct link_store_new wanted = new_link(c);
	enum err err = pg_conn_begin(conn);
	if (err != OK)
		return err;
	err = check_quota(c, conn);
	if (err == OK)
		err = slug_issuer_create(conn, &wanted, slug_random, &c->link);
	if (err == OK)
		err = link_audit_add(c->request, conn, LINK_CHANGE_CREATED, &c->link);
	if (err == OK) {
		link_cache_reserve_for_change(c->request->api->cache, c->link.entry.slug, &c->place);
		return pg_conn_commit(conn);
	}
	pg_conn_rollback(conn);
	return err;
}

static enum err create(struct creation *c)
{
	const struct api *api = c->request->api;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(api->pg, &conn);
	if (err != OK)
		return err;
	err = create_on(c, conn);
	pg_pool_give(api->pg, conn);
	if (err == OK)
		link_telling_finish(api, &c->place, &c->link);
	return err;
}

static enum http_progress answer_created(struct creation *c)
{
	struct request *r = c->request;
	const struct link_entry *entry = &c->link.entry;
	char location[LOCATION_SIZE];
	char etag[ETAG_SIZE];
	/* Nobody owns an anonymous link: what its maker can open is the short URL. */
	if (r->user_id)
		snprintf(location, sizeof(location), "/api/links/%" PRId64, entry->id);
	else
		public_base_short_url(&r->api->base, entry->slug, location);
	etag_format(entry->version, etag);
	if (http_exchange_add_header(r->exchange, "Location", location) != OK ||
	    http_exchange_add_header(r->exchange, "ETag", etag) != OK)
		return answer_failure(r, ERR_INTERNAL);

	const struct statistics unvisited = { .link_id = entry->id };
	const struct link_check unchecked = { .status = LINK_CHECK_NOT_ASKED };
	struct json *answer = json_new_object();
	json_set(answer, "link", link_json_new(&c->link, &unvisited, &unchecked, &r->api->base, request_now_us(r)));
	if (!r->user_id)
		json_set_text(answer, "claim_token", c->claim_token.text);
	return answer_json(r, 201, answer);
}

static enum http_progress answer_refused(struct creation *c, enum err err)
{
	struct request *r = c->request;
	struct rate_limit_rule rule = quota_rule(r);
	if (c->quota_reset_s > 0)
		return answer_limited(r, &rule, c->quota_reset_s);
	if (err == ERR_CONFLICT)
		return answer_conflict(r, "slug-taken", "/slug", "is taken, or was once");
	if (err == ERR_NOT_FOUND)
		return answer_login_needed(r, REQUEST_LOGIN_BAD);
	return answer_failure(r, err);
}

enum http_progress link_create_own(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct creation *c = creation_new(ctx, LINK_REQUEST_CREATE);
	if (!c)
		return HTTP_ANSWERED;
	enum err err = create(c);
	enum http_progress progress = err == OK ? answer_created(c) : answer_refused(c, err);
	free(c);
	return progress;
}

enum http_progress link_create_public(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct creation *c = creation_new(r, LINK_REQUEST_CREATE_PUBLIC);
	if (!c)
		return HTTP_ANSWERED;
	struct rate_limit_rule rule = anonymous_rule(r);
	char network[CLIENT_IP_NETWORK_SIZE];
	int64_t reset_s = 0;
	enum http_progress progress;
	request_network(r, network);
	if (rate_limit_take(r->api->redis, &rule, network, &reset_s) != OK) {
		progress = answer_limited(r, &rule, reset_s);
	} else {
		claim_token_make(&c->claim_token);
		enum err err = create(c);
		if (err != OK)
			rate_limit_give_back(r->api->redis, &rule, network);
		progress = err == OK ? answer_created(c) : answer_refused(c, err);
	}
	free(c);
	return progress;
}
