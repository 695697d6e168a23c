#include "services/links-api/links/link_bulk.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/answer.h"
#include "services/links-api/links/link_batch.h"
#include "services/links-api/links/link_telling.h"
#include "services/links-api/links/link_writing.h"
#include "services/links-api/member.h"

/* One request. */
struct bulk {
	struct request *request;
	struct link_batch *batch;
};

static const struct json *items_of(const struct json *body, size_t most, struct http_problem_fields *wrong)
{
	static const char *const names[] = { "links" };
	member_refuse_unknown(body, names, 1, wrong);
	const struct json *items = json_get(body, "links");
	size_t count = items && json_type(items) == JSON_ARRAY ? json_count(items) : 0;
	if (count < 1 || count > most)
		http_problem_add_field(wrong, "/links", "must be an array of 1 to %zu objects", most);
	return items;
}

/* NULL: the request has been answered. */
static struct link_batch *read_batch(struct request *r, enum link_batch_kind kind, size_t most)
{
	struct json *body = request_read_body(r);
	if (!body)
		return NULL;
	struct link_batch *batch = NULL;
	struct http_problem_fields wrong = { 0 };
	const struct json *items = items_of(body, most, &wrong);
	if (wrong.count == 0)
		batch = link_batch_new(r, kind, items);
	else
		answer_wrong_fields(r, &wrong);
	json_free(body);
	return batch;
}

static enum err write(void *ctx, struct pg_conn *conn, struct kept_answer *answer)
{
	const struct bulk *bulk = ctx;
	enum err err = link_batch_write(bulk->batch, conn);
	if (err != OK)
		return err;
	struct json *body = json_new_object();
	json_set(body, "results", link_batch_results(bulk->batch));
	return kept_answer_set(answer, 200, body);
}

static char (*slugs_of(void *ctx, size_t *count))[SLUG_SIZE]
{
	const struct bulk *bulk = ctx;
	return link_batch_slugs(bulk->batch, count);
}

static void tell(void *ctx)
{
	const struct bulk *bulk = ctx;
	size_t count = 0;
	char(*slugs)[SLUG_SIZE] = link_batch_slugs(bulk->batch, &count);
	const char **names = mem_array(count, sizeof(*names));
	for (size_t i = 0; i < count; i++)
		names[i] = slugs[i];
	link_telling_finish_many(bulk->request->api, bulk->request->user_id, names, count);
	free(names);
	free(slugs);
}

static void answer_refused(struct request *r, enum err err)
{
	if (err == ERR_NOT_FOUND)
		answer_login_needed(r, REQUEST_LOGIN_BAD);
	else
		answer_failure(r, err);
}

static void run(struct bulk *bulk)
{
	static const struct link_writing_steps steps = { write, slugs_of, NULL, tell };
	struct request *r = bulk->request;
	struct link_writing writing;
	if (link_writing_init(&writing, r, &steps, bulk) != OK)
		return;
	enum link_writing_end end = link_writing_run(&writing);
	if (end == LINK_WRITING_WRITTEN) {
		const struct link_quota *quota = link_batch_quota(bulk->batch);
		answer_add_limit(r, &quota->rule, &quota->state);
		kept_answer_send(r, &writing.answer);
	} else if (end == LINK_WRITING_REFUSED) {
		answer_refused(r, writing.err);
	}
	link_writing_clear(&writing);
}

static enum http_progress handle(struct request *r, enum link_batch_kind kind, size_t most)
{
	struct bulk bulk = { .request = r, .batch = read_batch(r, kind, most) };
	if (!bulk.batch)
		return HTTP_ANSWERED;
	run(&bulk);
	link_batch_free(bulk.batch);
	return HTTP_ANSWERED;
}

enum http_progress link_bulk_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	return handle(ctx, LINK_BATCH_CREATE, LINK_BULK_MAX);
}

enum http_progress link_bulk_sync(void *ctx, struct http_exchange *x)
{
	(void)x;
	return handle(ctx, LINK_BATCH_SYNC, LINK_BULK_SYNC_MAX);
}
