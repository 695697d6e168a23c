#include "services/links-api/links/link_bulk.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/account_rate.h"
#include "services/links-api/links/bulk_write.h"
#include "services/links-api/links/idempotent_transaction.h"
#include "services/links-api/links/link_cache_update.h"

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
static struct bulk_write *read_body(struct request *r, enum bulk_write_kind kind, size_t max)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct bulk_write *bulk = NULL;
	struct http_problem_fields wrong = { 0 };
	const struct json *items = items_of(body, max, &wrong);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	else if (account_rate_take_bulk(r, (int64_t)json_count(items)))
		bulk = bulk_write_new(r, kind, items);
	json_free(body);
	return bulk;
}

static enum err execute(void *ctx, struct idempotent_transaction *tx)
{
	struct bulk_write *bulk = ctx;
	enum err err = bulk_write_run(bulk, tx->conn);
	if (err != OK)
		return err;
	struct json *body = json_new_object();
	json_set(body, "results", bulk_write_results(bulk));
	err = stored_response_set(&tx->response, 200, body);
	if (err != OK || !bulk_write_has_effect(bulk))
		return err;
	size_t count = 0;
	char(*slugs)[SLUG_SIZE] = bulk_write_slugs(bulk, &count);
	err = idempotent_transaction_save(tx, slugs, count);
	free(slugs);
	return err;
}

static void publish(const struct request *r, const struct bulk_write *bulk)
{
	size_t count = 0;
	char(*slugs)[SLUG_SIZE] = bulk_write_slugs(bulk, &count);
	const char **names = mem_array(count, sizeof(*names));
	for (size_t i = 0; i < count; i++)
		names[i] = slugs[i];
	link_cache_update_bulk(r->api, names, count);
	free(names);
	free(slugs);
}

static enum http_progress answer_error(struct request *r, enum err err)
{
	return err == ERR_NOT_FOUND ? response_unauthorized(r, REQUEST_AUTH_INVALID)
	                            : response_failure(r, err);
}

/* Begin, execute, commit; then publish to Redis before the client hears of it. */
static enum http_progress run(struct request *r, struct bulk_write *bulk)
{
	struct idempotent_transaction tx;
	enum http_progress progress;
	if (idempotent_transaction_init(&tx, r) != OK)
		return HTTP_COMPLETE;
	enum err err = idempotent_transaction_run(&tx, execute, bulk);
	if (err != OK) {
		progress = answer_error(r, err);
	} else if (tx.state != IDEMPOTENCY_NEW) {
		progress = idempotent_transaction_answer(&tx);
	} else {
		const struct link_quota *quota = bulk_write_quota(bulk);
		publish(r, bulk);
		response_add_limit(r, &quota->rule, &quota->state);
		if (bulk_write_is_over_quota(bulk))
			response_add_retry_after(r, quota->state.reset_s);
		progress = stored_response_send(r, &tx.response);
	}
	idempotent_transaction_clear(&tx);
	return progress;
}

static enum http_progress handle(struct request *r, enum bulk_write_kind kind, size_t max)
{
	struct bulk_write *bulk = read_body(r, kind, max);
	if (!bulk)
		return HTTP_COMPLETE;
	enum http_progress progress = run(r, bulk);
	bulk_write_free(bulk);
	return progress;
}

enum http_progress link_bulk_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	return handle(ctx, BULK_WRITE_CREATE, LINK_BULK_MAX);
}

enum http_progress link_bulk_sync(void *ctx, struct http_exchange *x)
{
	(void)x;
	return handle(ctx, BULK_WRITE_SYNC, LINK_BULK_SYNC_MAX);
}
