#include "services/links-api/links/link_bulk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_store.h"
#include "lib/links/visit_limit.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/links/bulk_create.h"
#include "services/links-api/links/idempotency.h"
#include "services/links-api/links/link_audit.h"
#include "services/links-api/links/link_cache_update.h"
#include "services/links-api/links/link_history.h"
#include "services/links-api/links/link_json.h"
#include "services/links-api/links/link_notes_store.h"

#define NO_LINK_ID INT64_C(-1)
/*
 * From reading the request to its last statement, in timeouts of one statement. The user's row can be
 * locked meanwhile.
 */
#define STATEMENT_TIMEOUTS 3

static const struct {
	unsigned status;
	/* Of the problem. */
	const char *kind, *pointer, *detail;
} outcomes[BULK_OUTCOMES] = {
	[BULK_INVALID] = { 400, NULL, NULL, NULL }, /* has a problem of its own */
	[BULK_CREATED] = { 201, NULL, NULL, NULL },
	[BULK_FOUND] = { 200, NULL, NULL, NULL },
	[BULK_CLAIMED] = { 200, NULL, NULL, NULL },
	[BULK_TAKEN] = { 409, NULL, NULL, NULL },              /* its conflict says more */
	[BULK_OVER_QUOTA] = { 429, "rate-limit", NULL, NULL }, /* names the quota */
	[BULK_NO_FREE_SLUG] = { 503, "no-free-slug", NULL,
	                        "No free random slug was found. Please try again." },
	[BULK_NOT_FOUND] = { 404, "link-not-found", NULL,
	                     "No link matches this slug and claim token." },
	[BULK_EXPIRED] = { 409, "state", "/slug", "belongs to an expired link" },
	[BULK_KEY_LIMITED] = { 403, "key-limited", NULL,
	                       "The API key is limited to tags, and the link has none of them." },
};

/* --- reading --- */

static void reject_item(const struct link_bulk *bulk, struct link_bulk_item *item,
                        const struct http_problem_fields *wrong)
{
	char detail[RESPONSE_DETAIL_SIZE];
	response_fields_detail(wrong, detail);
	item->outcome = BULK_INVALID;
	item->problem = http_problem_new(400, "validation", detail,
	                                 http_exchange_request_id(bulk->request->exchange), wrong);
}

static void read_claim(const struct json *object, struct link_bulk_item *item,
                       struct http_problem_fields *wrong)
{
	static const char *const names[] = { "slug", "claim_token" };
	member_reject_unknown(object, names, 2, wrong);
	const char *slug = member_text_of(object, "slug", true, wrong);
	const char *token = member_text_of(object, "claim_token", true, wrong);
	if (slug && !slug_is_valid(slug, strlen(slug)))
		http_problem_add_field(wrong, "/slug", "slug", "is not a valid slug");
	if (wrong->count > 0 || !slug || !token)
		return;
	item->is_claim = true;
	snprintf(item->input.slug, sizeof(item->input.slug), "%s", slug);
	secret_hash(token, item->claim_token_hash);
}

static void read_creation(const struct request *r, const struct json *value,
                          struct link_bulk_item *item, struct http_problem_fields *wrong)
{
	struct link_request *input = &item->input;
	enum err err = link_request_read(value, LINK_REQUEST_CREATE, r->api->base,
	                                 request_now_us(r), input, wrong);
	link_request_reject_in_bulk(value, wrong);
	if (err == OK && wrong->count == 0)
		err = link_extras_request_pack(&input->extras, r->default_forward_query,
		                               r->default_forward_path);
	if (err == OK)
		item->creation.requested = link_request_new_link(input, r->workspace_id);
}

static void read_item(const struct link_bulk *bulk, enum link_bulk_kind kind,
                      const struct json *value, struct link_bulk_item *item)
{
	const struct request *r = bulk->request;
	struct http_problem_fields wrong = { 0 };
	if (json_type(value) != JSON_OBJECT)
		http_problem_add_field(&wrong, "", "type", "must be an object");
	else if (kind == LINK_BULK_SYNC && json_get(value, "claim_token"))
		read_claim(value, item, &wrong);
	else if (kind == LINK_BULK_SYNC && !json_get(value, "original_url"))
		http_problem_add_field(&wrong, "/claim_token", "required",
		                       "claim_token or original_url is required");
	else
		read_creation(r, value, item, &wrong);
	if (wrong.count > 0)
		reject_item(bulk, item, &wrong);
	else if (!item->is_claim && !request_sees_tags(r, &item->input.tags))
		item->outcome = BULK_KEY_LIMITED;
}

struct link_bulk *link_bulk_new(struct request *r, enum link_bulk_kind kind,
                                const struct json *items)
{
	struct link_bulk *bulk = mem_zero(sizeof(*bulk));
	bulk->request = r;
	bulk->count = json_count(items);
	bulk->items = mem_array(bulk->count, sizeof(*bulk->items));
	bulk->round = mem_array(bulk->count, sizeof(struct slug_allocator_item *));
	for (size_t i = 0; i < bulk->count; i++)
		read_item(bulk, kind, json_at(items, i), &bulk->items[i]);
	bulk_create_match(bulk);
	bulk->deadline_us =
		clock_steady_us(r->api->clock) +
		STATEMENT_TIMEOUTS * r->api->config->pg_statement_timeout_ms * CLOCK_US_PER_MS;
	return bulk;
}

void link_bulk_free(struct link_bulk *bulk)
{
	for (size_t i = 0; i < bulk->count; i++) {
		json_free(bulk->items[i].problem);
		link_request_clear(&bulk->items[i].input);
	}
	link_details_clear(&bulk->details);
	free(bulk->items);
	free(bulk->round);
	free(bulk);
}

/* --- in the transaction --- */

/* Also resets the outcomes of an earlier try, except for items that are refused. */
static void reset(struct link_bulk *bulk)
{
	for (size_t i = 0; i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (item->outcome != BULK_INVALID && item->outcome != BULK_KEY_LIMITED)
			item->outcome = BULK_PENDING;
		item->creation.link = &item->link;
		item->creation.tries = 0;
		item->creation.is_done = false;
		item->reusable = NULL;
		item->conflict = (struct link_conflict){ 0 };
	}
}

static enum err claim_link(const struct link_bulk *bulk, struct pg_conn *conn,
                           struct link_bulk_item *item)
{
	const struct request *r = bulk->request;
	enum err err = link_store_claim(conn, &item->link, r->workspace_id);
	if (err == OK)
		item->outcome = BULK_CLAIMED;
	return err;
}

/* A deleted link, or one that another user has claimed, counts as not found. */
static enum err claim(const struct link_bulk *bulk, struct pg_conn *conn,
                      struct link_bulk_item *item)
{
	const struct request *r = bulk->request;
	const struct link *link = &item->link;
	enum err err = link_store_lock_by_claim_token(conn, item->input.slug,
	                                              item->claim_token_hash, &item->link);
	if (err == ERR_NOT_FOUND)
		item->outcome = BULK_NOT_FOUND;
	if (err != OK)
		return err == ERR_NOT_FOUND ? OK : err;
	bool is_free = link->workspace_id == 0;
	bool is_seen = request_sees_tags(r, &link->tags);
	enum link_state state = link_state_at(&link->entry, request_now_us(r));
	if (state == LINK_STATE_DELETED ||
	    (!is_free && (link->workspace_id != r->workspace_id || !is_seen)))
		item->outcome = BULK_NOT_FOUND;
	else if (!is_seen)
		item->outcome = BULK_KEY_LIMITED;
	else if (!is_free)
		item->outcome = BULK_FOUND;
	else if (state == LINK_STATE_EXPIRED)
		item->outcome = BULK_EXPIRED;
	else
		return claim_link(bulk, conn, item);
	return OK;
}

static enum err claim_all(struct link_bulk *bulk, struct pg_conn *conn)
{
	enum err err = OK;
	for (size_t i = 0; err == OK && i < bulk->count; i++) {
		struct link_bulk_item *item = &bulk->items[i];
		if (!item->is_claim || item->outcome != BULK_PENDING)
			continue;
		err = bulk_create_check_deadline(bulk);
		if (err == OK)
			err = claim(bulk, conn, item);
	}
	return err;
}

/* One entry for all links with this outcome. */
static enum err audit(const struct link_bulk *bulk, struct pg_conn *conn,
                      enum link_bulk_outcome outcome, enum link_change change)
{
	const struct request *r = bulk->request;
	struct link_audit_bulk links = { 0 };
	for (size_t i = 0; i < bulk->count; i++) {
		if (bulk->items[i].outcome == outcome)
			link_audit_bulk_include(&links, bulk->items[i].link.entry.id);
	}
	return link_audit_add_bulk(r, conn, change, r->workspace_id, &links);
}

static enum err add_notes(const struct link_bulk *bulk, struct pg_conn *conn)
{
	int64_t *ids = mem_array(bulk->count, sizeof(*ids));
	const char **notes = mem_array(bulk->count, sizeof(*notes));
	size_t count = 0;
	for (size_t i = 0; i < bulk->count; i++) {
		const struct link_bulk_item *item = &bulk->items[i];
		if (item->outcome != BULK_CREATED || !item->input.notes)
			continue;
		ids[count] = item->link.entry.id;
		notes[count++] = item->input.notes;
	}
	enum err err = link_notes_store_add_bulk(conn, ids, notes, count);
	free(ids);
	free(notes);
	return err;
}

static enum err set_limits(const struct link_bulk *bulk, struct pg_conn *conn)
{
	enum err err = OK;
	for (size_t i = 0; err == OK && i < bulk->count; i++) {
		const struct link_bulk_item *item = &bulk->items[i];
		if (item->outcome == BULK_CREATED &&
		    item->input.extras.features & LINK_FEATURE_LIMIT)
			err = visit_limit_set(conn, item->link.entry.id,
			                      item->input.extras.extras->max_visits);
	}
	return err;
}

/* All that the response shows beside the links themselves. */
static enum err read_details(struct link_bulk *bulk, struct pg_conn *conn)
{
	int64_t *ids = mem_array(bulk->count, sizeof(*ids));
	link_aliases_clear(&bulk->details.aliases);
	for (size_t i = 0; i < bulk->count; i++) {
		bool has_link = bulk_create_has_link(&bulk->items[i]);
		ids[i] = has_link ? bulk->items[i].link.entry.id : NO_LINK_ID;
		if (has_link)
			link_aliases_want(&bulk->details.aliases, &bulk->items[i].link);
	}
	enum err err = link_details_read(&bulk->details, bulk->request, conn, ids, bulk->count);
	free(ids);
	return err;
}

/*
 * Sets the outcomes of all items in the caller's transaction; after a rollback it can run again. The
 * number of statements does not depend on the number of links to create, or on slugs and URLs that
 * items share, unless the quota is smaller than the bulk. ERR_UNAVAILABLE also: the time limit has
 * passed.
 */
static enum err run_items(struct link_bulk *bulk, struct pg_conn *conn)
{
	reset(bulk);
	enum err err = link_quota_read(bulk->request, conn, true, &bulk->quota);
	if (err == OK)
		err = link_history_begin(bulk->request, conn);
	if (err == OK)
		err = claim_all(bulk, conn);
	if (err == OK)
		err = bulk_create_run(bulk, conn);
	if (err == OK)
		err = add_notes(bulk, conn);
	if (err == OK)
		err = set_limits(bulk, conn);
	if (err == OK)
		err = audit(bulk, conn, BULK_CLAIMED, LINK_CHANGE_CLAIMED);
	if (err == OK)
		err = audit(bulk, conn, BULK_CREATED, LINK_CHANGE_CREATED);
	return err == OK ? read_details(bulk, conn) : err;
}

static bool has_outcome(const struct link_bulk *bulk, enum link_bulk_outcome outcome)
{
	for (size_t i = 0; i < bulk->count; i++) {
		if (bulk->items[i].outcome == outcome)
			return true;
	}
	return false;
}

/* --- results --- */

/* The slugs of the links that were created, claimed or reused. The caller frees the copy. */
static char (*slugs_of(const struct link_bulk *bulk, size_t *count))[SLUG_SIZE]
{
	char(*slugs)[SLUG_SIZE] = mem_array(bulk->count, sizeof(*slugs));
	*count = 0;
	for (size_t i = 0; i < bulk->count; i++) {
		if (bulk_create_has_link(&bulk->items[i]))
			snprintf(slugs[(*count)++], SLUG_SIZE, "%s",
			         bulk->items[i].link.entry.slug);
	}
	return slugs;
}

static struct json *problem_of(const struct link_bulk *bulk, const struct link_bulk_item *item)
{
	const struct request *r = bulk->request;
	const char *pointer = outcomes[item->outcome].pointer, *kind = outcomes[item->outcome].kind,
		   *detail = outcomes[item->outcome].detail;
	char sentence[RESPONSE_DETAIL_SIZE];
	struct http_problem_fields fields = { 0 };
	if (item->outcome == BULK_TAKEN) {
		kind = link_conflict_describe(&item->conflict, &fields, sentence);
		detail = sentence;
	} else if (pointer) {
		http_problem_add_field(&fields, pointer, kind, "%s", detail);
		snprintf(sentence, sizeof(sentence), "Conflict: %s %.512s.", pointer + 1, detail);
		detail = sentence;
	} else if (item->outcome == BULK_OVER_QUOTA) {
		response_limit_detail(&bulk->quota.rule, bulk->quota.state.reset_s, sentence);
		detail = sentence;
	}
	return http_problem_new(outcomes[item->outcome].status, kind, detail,
	                        http_exchange_request_id(r->exchange), &fields);
}

static struct json *result_of(const struct link_bulk *bulk, size_t index, int64_t now_us)
{
	const struct link_bulk_item *item = &bulk->items[index];
	struct json *result = json_new_object();
	json_set_int(result, "status", outcomes[item->outcome].status);
	if (bulk_create_has_link(item))
		json_set(result, "link",
		         link_json_new(&item->link, &bulk->details, index, bulk->request->api->base,
		                       now_us));
	else
		json_set(result, "problem",
		         item->problem ? json_share(item->problem) : problem_of(bulk, item));
	return result;
}

static struct json *results_of(const struct link_bulk *bulk)
{
	int64_t now_us = request_now_us(bulk->request);
	struct json *results = json_new_array();
	for (size_t i = 0; i < bulk->count; i++)
		json_append(results, result_of(bulk, i, now_us));
	return results;
}

/* --- the request --- */

static const struct json *items_of(const struct json *body, size_t max,
                                   struct http_problem_fields *wrong)
{
	static const char *const names[] = { "links" };
	member_reject_unknown(body, names, 1, wrong);
	const struct json *items = json_get(body, "links");
	size_t count = items && json_type(items) == JSON_ARRAY ? json_count(items) : 0;
	if (count < 1 || count > max)
		http_problem_add_field(wrong, "/links", "array",
		                       "must be an array of 1 to %zu objects", max);
	return items;
}

/* NULL: the body is invalid or has too many links, and the request has been answered. */
static struct link_bulk *read_body(struct request *r, enum link_bulk_kind kind, size_t max)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct link_bulk *bulk = NULL;
	struct http_problem_fields wrong = { 0 };
	const struct json *items = items_of(body, max, &wrong);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	else
		bulk = link_bulk_new(r, kind, items);
	json_free(body);
	return bulk;
}

static enum err execute(void *ctx, struct idempotency *i)
{
	struct link_bulk *bulk = ctx;
	enum err err = run_items(bulk, i->conn);
	if (err != OK)
		return err;
	struct json *body = json_new_object();
	json_set(body, "results", results_of(bulk));
	err = idempotency_set_response(i, 200, body);
	/* Without effect, a repeat needs no stored response. */
	if (err != OK || !(has_outcome(bulk, BULK_CREATED) || has_outcome(bulk, BULK_CLAIMED)))
		return err;
	size_t count = 0;
	char(*slugs)[SLUG_SIZE] = slugs_of(bulk, &count);
	err = idempotency_save(i, slugs, count);
	free(slugs);
	return err;
}

static void publish(const struct request *r, struct link_bulk *bulk)
{
	size_t count = 0;
	char(*slugs)[SLUG_SIZE] = slugs_of(bulk, &count);
	const char **names = mem_array(count, sizeof(*names));
	for (size_t i = 0; i < count; i++)
		names[i] = slugs[i];
	link_cache_update_bulk(r->api, names, count);
	link_cache_update_aliases(r->api, &bulk->details.aliases);
	free(names);
	free(slugs);
}

static enum http_progress answer_error(const struct link_bulk *bulk, enum err err)
{
	struct request *r = bulk->request;
	if (bulk->is_rate_limited)
		return HTTP_COMPLETE;
	return err == ERR_NOT_FOUND ? response_unauthorized(r, REQUEST_AUTH_INVALID)
	                            : response_failure(r, err);
}

/* Begin, execute, commit; then publish to Redis before the client hears of it. */
static enum http_progress run(struct request *r, struct link_bulk *bulk)
{
	struct idempotency i;
	enum http_progress progress;
	if (idempotency_init(&i, r) != OK)
		return HTTP_COMPLETE;
	enum err err = idempotency_run(&i, execute, bulk);
	if (err != OK) {
		progress = answer_error(bulk, err);
	} else if (i.state != IDEMPOTENCY_NEW) {
		progress = idempotency_answer(&i);
	} else {
		const struct link_quota *quota = &bulk->quota;
		publish(r, bulk);
		response_add_limit(r, &quota->rule, &quota->state);
		if (has_outcome(bulk, BULK_OVER_QUOTA))
			response_add_retry_after(r, quota->state.reset_s);
		progress = idempotency_send_response(&i);
	}
	idempotency_clear(&i);
	return progress;
}

static enum http_progress handle(struct request *r, enum link_bulk_kind kind, size_t max)
{
	struct link_bulk *bulk = read_body(r, kind, max);
	if (!bulk)
		return HTTP_COMPLETE;
	enum http_progress progress = run(r, bulk);
	link_bulk_free(bulk);
	return progress;
}

enum http_progress link_bulk_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	return handle(ctx, LINK_BULK_CREATE, LINK_BULK_MAX);
}

enum http_progress link_bulk_sync(void *ctx, struct http_exchange *x)
{
	(void)x;
	return handle(ctx, LINK_BULK_SYNC, LINK_BULK_SYNC_MAX);
}
