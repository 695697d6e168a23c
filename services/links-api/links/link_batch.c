#include "services/links-api/links/link_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_claim_store.h"
#include "services/links-api/links/claim_token.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/links/link_request.h"
#include "services/links-api/links/slug_issuer.h"
#include "services/links-api/member.h"

#define NOBODYS_ID INT64_C(-1)

enum outcome { UNDECIDED, WRONG, MADE, FOUND, CLAIMED, TAKEN, LIMITED, EXHAUSTED, NO_SUCH, EXPIRED, OUTCOMES };

static const struct {
	unsigned status;
	const char *kind, *pointer, *detail; /* of the problem */
} outcomes[OUTCOMES] = {
	[WRONG] = { 400, NULL, NULL, NULL }, /* its problem was written when it was read */
	[MADE] = { 201, NULL, NULL, NULL },
	[FOUND] = { 200, NULL, NULL, NULL },
	[CLAIMED] = { 200, NULL, NULL, NULL },
	[TAKEN] = { 409, "slug-taken", "/slug", "is taken, or was once" },
	[LIMITED] = { 429, "rate-limit", NULL, "You have created as many links as you may in 24 hours." },
	[EXHAUSTED] = { 503, NULL, NULL, "No free slug was found; please try again." },
	[NO_SUCH] = { 404, NULL, NULL, "There is no link of that slug and claim token." },
	[EXPIRED] = { 409, "state", "/slug", "the link has expired" },
};

struct item {
	enum outcome outcome;
	struct json *problem; /* of a WRONG one */
	bool is_claim;
	struct link_request wish; /* of a claim: its slug alone */
	uint8_t claim_token_hash[DIGEST_SIZE];
	struct link link;
	struct slug_issuer_item issued;
};

struct link_batch {
	struct request *request;
	struct item *items;
	size_t count;
	struct link_quota quota;
	struct slug_issuer_item **round; /* room for all */
	struct statistics *statistics;
	struct link_check *checks;
};

/* --- reading --- */

static void refuse_item(const struct link_batch *batch, struct item *item, const struct http_problem_fields *wrong)
{
	item->outcome = WRONG;
	item->problem = http_problem_new(400, "validation", "Some fields are not valid.",
	                                 http_exchange_request_id(batch->request->exchange), wrong);
}

static void read_claim(const struct json *object, struct item *item, struct http_problem_fields *wrong)
{
	static const char *const names[] = { "slug", "claim_token" };
	member_refuse_unknown(object, names, 2, wrong);
	const char *slug = member_text_of(object, "slug", true, wrong);
	const char *token = member_text_of(object, "claim_token", true, wrong);
	if (slug && !slug_is_valid(slug, strlen(slug)))
		http_problem_add_field(wrong, "/slug", "is no slug");
	if (wrong->count > 0 || !slug || !token)
		return;
	item->is_claim = true;
	snprintf(item->wish.slug, sizeof(item->wish.slug), "%s", slug);
	claim_token_hash(token, item->claim_token_hash);
}

static void read_item(const struct link_batch *batch, enum link_batch_kind kind, const struct json *value,
                      struct item *item)
{
	const struct request *r = batch->request;
	struct http_problem_fields wrong = { 0 };
	if (json_type(value) != JSON_OBJECT)
		http_problem_add_field(&wrong, "", "must be an object");
	else if (kind == LINK_BATCH_SYNC && json_get(value, "claim_token"))
		read_claim(value, item, &wrong);
	else if (link_request_read(value, LINK_REQUEST_CREATE, &r->api->base, request_now_us(r), &item->wish, &wrong) ==
	         OK)
		item->issued.wanted = link_request_new_link(&item->wish, r->user_id);
	if (wrong.count > 0)
		refuse_item(batch, item, &wrong);
}

struct link_batch *link_batch_new(struct request *r, enum link_batch_kind kind, const struct json *items)
{
	struct link_batch *batch = mem_zero(sizeof(*batch));
	batch->request = r;
	batch->count = json_count(items);
	batch->items = mem_array(batch->count, sizeof(*batch->items));
	batch->round = mem_array(batch->count, sizeof(struct slug_issuer_item *));
	batch->statistics = mem_array(batch->count, sizeof(*batch->statistics));
	batch->checks = mem_array(batch->count, sizeof(*batch->checks));
	for (size_t i = 0; i < batch->count; i++)
		read_item(batch, kind, json_at(items, i), &batch->items[i]);
	return batch;
}

void link_batch_free(struct link_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		json_free(batch->items[i].problem);
	free(batch->items);
	free(batch->round);
	free(batch->statistics);
	free(batch->checks);
	free(batch);
}

/* --- in the transaction --- */

static bool has_link(const struct item *item)
{
	return item->outcome == MADE || item->outcome == FOUND || item->outcome == CLAIMED;
}

/* After a rollback nothing is decided but what is wrong in itself. */
static void begin(struct link_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct item *item = &batch->items[i];
		if (item->outcome != WRONG)
			item->outcome = UNDECIDED;
		item->issued.link = &item->link;
		item->issued.tries = 0;
		item->issued.is_done = false;
	}
}

static enum err take_claimed(const struct link_batch *batch, struct pg_conn *conn, struct item *item)
{
	const struct request *r = batch->request;
	enum err err = link_claim_store_take(conn, &item->link, r->user_id);
	if (err == OK)
		err = link_audit_add(r, conn, LINK_CHANGE_CLAIMED, &item->link);
	if (err == OK)
		item->outcome = CLAIMED;
	return err;
}

/* A link that is somebody else's by now, or was deleted, is as good as none. */
static enum err claim(const struct link_batch *batch, struct pg_conn *conn, struct item *item)
{
	const struct request *r = batch->request;
	const struct link *link = &item->link;
	enum err err = link_claim_store_lock(conn, item->wish.slug, item->claim_token_hash, &item->link);
	if (err == ERR_NOT_FOUND)
		item->outcome = NO_SUCH;
	if (err != OK)
		return err == ERR_NOT_FOUND ? OK : err;
	bool is_free = link->owner_id == 0;
	enum link_state state = link_state_at(&link->entry, request_now_us(r));
	if (state == LINK_STATE_DELETED || (!is_free && link->owner_id != r->user_id))
		item->outcome = NO_SUCH;
	else if (!is_free)
		item->outcome = FOUND;
	else if (state == LINK_STATE_EXPIRED)
		item->outcome = EXPIRED;
	else
		return take_claimed(batch, conn, item);
	return OK;
}

static enum err claim_all(struct link_batch *batch, struct pg_conn *conn)
{
	enum err err = OK;
	for (size_t i = 0; err == OK && i < batch->count; i++) {
		if (batch->items[i].is_claim && batch->items[i].outcome == UNDECIDED)
			err = claim(batch, conn, &batch->items[i]);
	}
	return err;
}

/* OK whether or not there is one. */
static enum err find_reusable(const struct link_batch *batch, struct pg_conn *conn, struct item *item)
{
	const char *slug = item->issued.wanted.slug;
	enum err err =
		link_store_find_active(conn, batch->request->user_id, item->wish.original_url, slug, &item->link);
	if (err == OK)
		item->outcome = FOUND;
	return err == ERR_NOT_FOUND ? OK : err;
}

/* Whether a link that an item could reuse, or a slug that it wishes for, may be made by one before it in this round. */
static bool must_wait(const struct link_batch *batch, const struct item *item, size_t chosen)
{
	const char *slug = item->issued.wanted.slug;
	for (size_t i = 0; i < chosen; i++) {
		const struct link_store_new *before = &batch->round[i]->wanted;
		if (slug && before->slug && strcmp(slug, before->slug) == 0)
			return true;
		if (item->wish.reuse && strcmp(item->wish.original_url, before->original_url) == 0)
			return true;
	}
	return false;
}

/* The next round: as many as the quota allows. *waiting: some are left for another one. */
static enum err choose(struct link_batch *batch, struct pg_conn *conn, size_t *chosen, bool *waiting)
{
	const struct link_quota *quota = &batch->quota;
	size_t most = quota->rule.max > 0 && quota->state.left < (int64_t)batch->count ? (size_t)quota->state.left
	                                                                               : batch->count;
	enum err err = OK;
	*chosen = 0;
	*waiting = false;
	for (size_t i = 0; err == OK && i < batch->count; i++) {
		struct item *item = &batch->items[i];
		if (item->outcome == UNDECIDED && item->wish.reuse)
			err = find_reusable(batch, conn, item);
		if (err != OK || item->outcome != UNDECIDED)
			continue;
		if (*chosen < most && !must_wait(batch, item, *chosen))
			batch->round[(*chosen)++] = &item->issued;
		else
			*waiting = true;
	}
	return err;
}

/* The items of the round, as they are now. made: their ids. */
static size_t judge(struct link_batch *batch, int64_t *made)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		struct item *item = &batch->items[i];
		if (item->outcome != UNDECIDED || !item->issued.is_done)
			continue;
		item->outcome = item->issued.err == OK ? MADE : item->issued.err == ERR_CONFLICT ? TAKEN : EXHAUSTED;
		if (item->outcome == MADE)
			made[count++] = item->link.entry.id;
	}
	return count;
}

static enum err create_chosen(struct link_batch *batch, struct pg_conn *conn, size_t chosen)
{
	const struct request *r = batch->request;
	int64_t *made = mem_array(chosen, sizeof(*made));
	size_t count = 0;
	enum err err = slug_issuer_create_many(conn, batch->round, chosen, slug_random);
	if (err == OK) {
		count = judge(batch, made);
		err = link_audit_add_many(r, conn, LINK_CHANGE_CREATED, made, count);
	}
	if (err == OK)
		err = link_quota_use(r, conn, &batch->quota, (int64_t)count);
	free(made);
	return err;
}

static void limit_rest(struct link_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->items[i].outcome == UNDECIDED)
			batch->items[i].outcome = LIMITED;
	}
}

/* Each round decides at least one item, or spends one of its tries. */
static enum err create_all(struct link_batch *batch, struct pg_conn *conn)
{
	size_t chosen = 0;
	bool waiting = false;
	enum err err;
	do {
		err = choose(batch, conn, &chosen, &waiting);
		if (err == OK && chosen > 0)
			err = create_chosen(batch, conn, chosen);
	} while (err == OK && chosen > 0);
	if (err == OK)
		limit_rest(batch);
	return err;
}

static enum err read_figures(struct link_batch *batch, struct pg_conn *conn)
{
	int64_t *ids = mem_array(batch->count, sizeof(*ids));
	for (size_t i = 0; i < batch->count; i++)
		ids[i] = has_link(&batch->items[i]) ? batch->items[i].link.entry.id : NOBODYS_ID;
	enum err err = statistics_store_get_many(conn, ids, batch->count, batch->statistics);
	if (err == OK)
		err = link_check_store_get_many(conn, ids, batch->count, batch->checks);
	free(ids);
	return err;
}

enum err link_batch_write(struct link_batch *batch, struct pg_conn *conn)
{
	begin(batch);
	enum err err = link_quota_read(batch->request, conn, true, &batch->quota);
	if (err == OK)
		err = claim_all(batch, conn);
	if (err == OK)
		err = create_all(batch, conn);
	return err == OK ? read_figures(batch, conn) : err;
}

const struct link_quota *link_batch_quota(const struct link_batch *batch)
{
	return &batch->quota;
}

/* --- what came of it --- */

char (*link_batch_slugs(const struct link_batch *batch, size_t *count))[SLUG_SIZE]
{
	char(*slugs)[SLUG_SIZE] = mem_array(batch->count, sizeof(*slugs));
	*count = 0;
	for (size_t i = 0; i < batch->count; i++) {
		if (has_link(&batch->items[i]))
			snprintf(slugs[(*count)++], SLUG_SIZE, "%s", batch->items[i].link.entry.slug);
	}
	return slugs;
}

static struct json *problem_of(const struct link_batch *batch, const struct item *item)
{
	const struct request *r = batch->request;
	const char *pointer = outcomes[item->outcome].pointer, *detail = outcomes[item->outcome].detail;
	struct http_problem_fields fields = { 0 };
	if (pointer)
		http_problem_add_field(&fields, pointer, "%s", detail);
	return http_problem_new(outcomes[item->outcome].status, outcomes[item->outcome].kind,
	                        pointer ? "The request does not fit what is there." : detail,
	                        http_exchange_request_id(r->exchange), &fields);
}

static struct json *result_of(const struct link_batch *batch, size_t index, int64_t now_us)
{
	const struct item *item = &batch->items[index];
	struct json *result = json_new_object();
	json_set_int(result, "status", outcomes[item->outcome].status);
	if (has_link(item))
		json_set(result, "link",
		         link_json_new(&item->link, &batch->statistics[index], &batch->checks[index],
		                       &batch->request->api->base, now_us));
	else
		json_set(result, "problem", item->problem ? json_share(item->problem) : problem_of(batch, item));
	return result;
}

struct json *link_batch_results(const struct link_batch *batch)
{
	int64_t now_us = request_now_us(batch->request);
	struct json *results = json_new_array();
	for (size_t i = 0; i < batch->count; i++)
		json_append(results, result_of(batch, i, now_us));
	return results;
}
