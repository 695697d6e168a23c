#include "services/links-api/links/link_create.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/answer.h"
#include "services/links-api/links/claim_token.h"
#include "services/links-api/links/etag.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/links/link_quota.h"
#include "services/links-api/links/link_request.h"
#include "services/links-api/links/link_telling.h"
#include "services/links-api/links/link_writing.h"
#include "services/links-api/links/slug_issuer.h"

#define ANONYMOUS_WINDOW_S 3600

/* One link being made. */
struct creation {
	struct request *request;
	bool is_wrong; /* as wrong says: only a kept answer can help */
	struct http_problem_fields wrong;
	struct link_request wish;
	struct claim_token claim_token; /* of anonymous links */
	struct link link;
	struct statistics statistics;
	struct link_check check;
	bool is_reused;                      /* the link was there */
	bool is_taken;                       /* the slug is */
	struct link_cache_reservation place; /* in Redis, from before the commit */
	struct link_quota quota;             /* of the user or of the network */
};

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
	c->request = r;
	enum err err = link_request_read(body, kind, &r->api->base, request_now_us(r), &c->wish, &c->wrong);
	c->is_wrong = err != OK;
	json_free(body);
	return c;
}

static struct link_store_new new_link(const struct creation *c)
{
	struct link_store_new new_link = link_request_new_link(&c->wish, c->request->user_id);
	if (new_link.owner_id == 0) {
		new_link.expires_at_us = request_now_us(c->request) + LINK_TEMPORARY_LIFE_US;
		new_link.claim_token_hash = c->claim_token.hash;
	}
	return new_link;
}

/* --- whether there may be one more --- */

static enum err take_from_user(struct creation *c, struct pg_conn *conn)
{
	enum err err = link_quota_read(c->request, conn, c->wish.reuse, &c->quota);
	if (err != OK || c->quota.rule.max == 0 || c->quota.state.left > 0)
		return err;
	return ERR_LIMIT;
}

static enum err take_from_network(struct creation *c)
{
	char network[CLIENT_IP_NETWORK_SIZE];
	c->quota.rule = anonymous_rule(c->request);
	request_network(c->request, network);
	return rate_limit_take_told(c->request->api->redis, &c->quota.rule, network, &c->quota.state);
}

static void give_back_to_network(const struct creation *c)
{
	char network[CLIENT_IP_NETWORK_SIZE];
	request_network(c->request, network);
	rate_limit_give_back(c->request->api->redis, &c->quota.rule, network);
}

/* --- in the transaction --- */

static enum err find_reusable(struct creation *c, struct pg_conn *conn)
{
	const struct link_request *wish = &c->wish;
	const char *slug = wish->members & LINK_REQUEST_SLUG ? wish->slug : NULL;
	enum err err = link_store_find_active(conn, c->request->user_id, wish->original_url, slug, &c->link);
	if (err == OK)
		err = statistics_store_get(conn, c->link.entry.id, &c->statistics);
	if (err == OK)
		err = link_check_store_get_many(conn, &c->link.entry.id, 1, &c->check);
	return err;
}

static enum err issue(struct creation *c, struct pg_conn *conn)
{
	struct link_store_new wanted = new_link(c);
	enum err err = slug_issuer_create(conn, &wanted, slug_random, &c->link);
	if (err == OK) {
		c->statistics = (struct statistics){ .link_id = c->link.entry.id };
		c->check = (struct link_check){ .status = LINK_CHECK_NOT_ASKED };
		return link_audit_add(c->request, conn, LINK_CHANGE_CREATED, &c->link);
	}
	/* A slug that is taken stays so; what else came between may be gone the next time. */
	c->is_taken = err == ERR_CONFLICT && c->wish.members & LINK_REQUEST_SLUG;
	return c->is_taken ? ERR_INVALID : err;
}

static void write_headers(const struct creation *c, struct kept_answer *answer)
{
	const struct request *r = c->request;
	const struct link_entry *entry = &c->link.entry;
	/* Nobody owns an anonymous link: what its maker can open is the short URL. */
	if (r->user_id)
		snprintf(answer->location, sizeof(answer->location), "/api/links/%" PRId64, entry->id);
	else
		public_base_short_url(&r->api->base, entry->slug, answer->location);
	etag_format(entry->version, answer->etag);
}

static enum err write_answer(const struct creation *c, struct kept_answer *answer)
{
	const struct request *r = c->request;
	struct json *body = json_new_object();
	json_set(body, "link", link_json_new(&c->link, &c->statistics, &c->check, &r->api->base, request_now_us(r)));
	if (!r->user_id)
		json_set_text(body, "claim_token", c->claim_token.text);
	write_headers(c, answer);
	return kept_answer_set(answer, c->is_reused ? 200 : 201, body);
}

static enum err create_own(struct creation *c, struct pg_conn *conn)
{
	enum err err = take_from_user(c, conn);
	if ((err == OK || err == ERR_LIMIT) && c->wish.reuse) {
		enum err found = find_reusable(c, conn);
		c->is_reused = found == OK;
		if (found != ERR_NOT_FOUND)
			return found;
	}
	if (err == OK)
		err = issue(c, conn);
	return err == OK ? link_quota_use(c->request, conn, &c->quota, 1) : err;
}

static enum err write_own(void *ctx, struct pg_conn *conn, struct kept_answer *answer)
{
	struct creation *c = ctx;
	c->is_reused = c->is_taken = false;
	if (c->is_wrong)
		return ERR_INVALID;
	enum err err = create_own(c, conn);
	return err == OK ? write_answer(c, answer) : err;
}

static enum err write_public(void *ctx, struct pg_conn *conn, struct kept_answer *answer)
{
	struct creation *c = ctx;
	c->is_taken = false;
	if (c->is_wrong)
		return ERR_INVALID;
	enum err err = take_from_network(c);
	if (err != OK)
		return err;
	claim_token_make(&c->claim_token);
	err = issue(c, conn);
	if (err == OK)
		err = write_answer(c, answer);
	if (err != OK)
		give_back_to_network(c);
	return err;
}

/* --- around it --- */

static char (*slugs_of(void *ctx, size_t *count))[SLUG_SIZE]
{
	const struct creation *c = ctx;
	char(*slugs)[SLUG_SIZE] = mem_copy(c->link.entry.slug, SLUG_SIZE);
	*count = 1;
	return slugs;
}

static void reserve(void *ctx)
{
	struct creation *c = ctx;
	link_cache_reserve_for_change(c->request->api->cache, c->link.entry.slug, &c->place);
}

static void tell(void *ctx)
{
	const struct creation *c = ctx;
	link_telling_finish(c->request->api, &c->place, &c->link);
}

static enum http_progress answer_refused(struct creation *c, enum err err)
{
	struct request *r = c->request;
	if (c->is_wrong)
		return answer_wrong_fields(r, &c->wrong);
	if (err == ERR_LIMIT && c->quota.rule.max > 0 && c->quota.state.left == 0)
		return answer_limited(r, &c->quota.rule, c->quota.state.reset_s);
	if (c->is_taken)
		return answer_conflict(r, "slug-taken", "/slug", "is taken, or was once");
	if (err == ERR_NOT_FOUND)
		return answer_login_needed(r, REQUEST_LOGIN_BAD);
	return answer_failure(r, err);
}

static enum http_progress run(struct creation *c, const struct link_writing_steps *steps)
{
	struct request *r = c->request;
	struct link_writing writing;
	if (c->is_wrong && !http_exchange_header(r->exchange, "Idempotency-Key"))
		return answer_wrong_fields(r, &c->wrong);
	if (link_writing_init(&writing, r, steps, c) != OK)
		return HTTP_ANSWERED;
	switch (link_writing_run(&writing)) {
	case LINK_WRITING_WRITTEN:
		answer_add_limit(r, &c->quota.rule, &c->quota.state);
		kept_answer_send(r, &writing.answer);
		break;
	case LINK_WRITING_REFUSED:
		answer_refused(c, writing.err);
		break;
	case LINK_WRITING_ANSWERED:
		break;
	}
	link_writing_clear(&writing);
	return HTTP_ANSWERED;
}

static enum http_progress handle(struct request *r, enum link_request_kind kind, const struct link_writing_steps *steps)
{
	struct creation *c = creation_new(r, kind);
	if (c)
		run(c, steps);
	free(c);
	return HTTP_ANSWERED;
}

enum http_progress link_create_own(void *ctx, struct http_exchange *x)
{
	static const struct link_writing_steps steps = { write_own, slugs_of, reserve, tell };
	(void)x;
	return handle(ctx, LINK_REQUEST_CREATE, &steps);
}

enum http_progress link_create_public(void *ctx, struct http_exchange *x)
{
	static const struct link_writing_steps steps = { write_public, slugs_of, reserve, tell };
	(void)x;
	return handle(ctx, LINK_REQUEST_CREATE_PUBLIC, &steps);
}
