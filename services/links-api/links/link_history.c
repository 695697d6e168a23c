#include "services/links-api/links/link_history.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "lib/links/link_store.h"
#include "services/links-api/http/pagination.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_history_store.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 100

enum err link_history_begin(const struct request *r, struct pg_conn *conn)
{
	return link_history_store_set_actor(conn, r->user_id, r->key_id);
}

static enum err read_params(const char *query, struct link_history_query *out,
                            struct http_problem_fields *wrong)
{
	*out = (struct link_history_query){ .before = INT64_MAX, .limit = LIMIT_DEFAULT };
	struct query_param params[] = {
		{ .name = "cursor", .number = &out->before, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .max = LIMIT_MAX },
	};
	return query_params_read(query, params, ARRAY_SIZE(params), wrong);
}

/* A deleted link is missing, as for GET /api/links/{id}. */
static enum err read_history(const struct request *r, struct link_history_query *query,
                             struct json **changes, int64_t *last_version, bool *is_deleted)
{
	struct link link;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return err;
	err = link_store_get(conn, request_path_id(r), request_owner(r), &link);
	*is_deleted = err == OK && link.entry.state == LINK_STATE_DELETED;
	if (*is_deleted)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		query->link_id = link.entry.id;
		query->owner_id = link.owner_id;
		err = link_history_store_list(conn, query, changes, last_version);
	}
	pg_pool_release(r->api->pg, conn);
	return err;
}

enum http_progress link_history_get(void *ctx, struct http_exchange *x)
{
	struct request *r = ctx;
	struct link_history_query query;
	struct http_problem_fields wrong = { 0 };
	struct json *changes = NULL;
	int64_t last_version = 0;
	bool is_deleted = false;
	if (read_params(http_exchange_query(x), &query, &wrong) != OK)
		return response_invalid_fields(r, &wrong);
	enum err err = read_history(r, &query, &changes, &last_version, &is_deleted);
	if (err == ERR_NOT_FOUND)
		return response_link_not_found(r, is_deleted);
	if (err != OK)
		return response_failure(r, err);
	char cursor[NUMBER_TEXT_SIZE];
	snprintf(cursor, sizeof(cursor), "%" PRId64, last_version);
	const struct pagination pagination = { .limit = query.limit,
		                               .total = PAGINATION_UNCOUNTED,
		                               .next_cursor = last_version ? cursor : NULL };
	struct json *answer = json_new_object();
	json_set(answer, "changes", changes);
	json_set(answer, "pagination", pagination_json(&pagination));
	return response_json(r, 200, answer);
}
