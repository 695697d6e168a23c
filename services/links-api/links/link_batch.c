#include "services/links-api/links/link_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_claim_store.h"
#include "services/links-api/links/claim_token.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_batch_making.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/member.h"

#define NOBODYS_ID INT64_C(-1)
/* From when it was read until its last statement begins; meanwhile the caller's account is locked. */
#define WRITE_US (8 * CLOCK_US_PER_S)

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

/* --- reading --- */

static void refuse_item(const struct link_batch *batch, struct link_batch_item *item,
                        const struct http_problem_fields *wrong)
{
	item->outcome = WRONG;
	item->problem = http_problem_new(400, "validation", "Some fields are not valid.",
	                                 http_exchange_request_id(batch->request->exchange), wrong);
}

static void read_claim(const struct json *object, struct link_batch_item *item, struct http_problem_fields *wrong)
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
                      struct link_batch_item *item)
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
	link_batch_making_match(batch);
	batch->until_us = clock_steady_us(r->api->clock) + WRITE_US;
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

/* After a rollback nothing is decided but what is wrong in itself. */
static void begin(struct link_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct link_batch_item *item = &batch->items[i];
		if (item->outcome != WRONG)
			item->outcome = UNDECIDED;
		item->issued.link = &item->link;
		item->issued.tries = 0;
		item->issued.is_done = false;
		item->reusable = NULL;
	}
}

static enum err take_claimed(const struct link_batch *batch, struct pg_conn *conn, struct link_batch_item *item)
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
static enum err claim(const struct link_batch *batch, struct pg_conn *conn, struct link_batch_item *item)
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
		struct link_batch_item *item = &batch->items[i];
		if (!item->is_claim || item->outcome != UNDECIDED)
			continue;
		err = link_batch_making_look_at_clock(batch);
		if (err == OK)
			err = claim(batch, conn, item);
	}
	return err;
}

static enum err read_figures(struct link_batch *batch, struct pg_conn *conn)
{
	int64_t *ids = mem_array(batch->count, sizeof(*ids));
	for (size_t i = 0; i < batch->count; i++)
		ids[i] = link_batch_making_has_link(&batch->items[i]) ? batch->items[i].link.entry.id : NOBODYS_ID;
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
		err = link_batch_making_run(batch, conn);
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
		if (link_batch_making_has_link(&batch->items[i]))
			snprintf(slugs[(*count)++], SLUG_SIZE, "%s", batch->items[i].link.entry.slug);
	}
	return slugs;
}

static struct json *problem_of(const struct link_batch *batch, const struct link_batch_item *item)
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
	const struct link_batch_item *item = &batch->items[index];
	struct json *result = json_new_object();
	json_set_int(result, "status", outcomes[item->outcome].status);
	if (link_batch_making_has_link(item))
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
