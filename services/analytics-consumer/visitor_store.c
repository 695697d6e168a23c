#include "services/analytics-consumer/visitor_store.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/net/sql_column.h"
#include "services/analytics-consumer/visitor_memory.h"

/* For so many batches visitors are looked up without any that the log has and the memory has not. */
#define LOOK_UP_BATCHES 20
#define VISITORS_REMEMBERED ((size_t)1 << 20)

/* One probe of the index for each; LIMIT keeps a join out, which would be free to read the whole day. */
static const char look_up_sql[] =
	"SELECT wanted.place FROM unnest($2::bigint[], $3::bytea[]) WITH ORDINALITY AS wanted (link_id, visitor_hash, place) "
	"CROSS JOIN LATERAL (SELECT FROM visit_log AS v WHERE v.day = $1::date AND v.link_id = wanted.link_id "
	"AND v.visitor_hash = wanted.visitor_hash AND v.is_unique AND v.visitor_hash <> '' LIMIT 1) AS seen";

struct visitor_store {
	struct visitor_memory *memory;
	unsigned look_up;      /* batches left */
	struct visit **firsts; /* of each visitor of the batch, in the visits' order */
	size_t firsts_count;
	struct visit **asked; /* of a day, those that are looked up */
	size_t asked_count;
	struct sql_column link_id;
	struct sql_column visitor_hash;
};

struct visitor_store *visitor_store_new(size_t visits_max)
{
	struct visitor_store *store = mem_zero(sizeof(*store));
	store->memory = visitor_memory_new(VISITORS_REMEMBERED);
	store->look_up = LOOK_UP_BATCHES;
	store->firsts = mem_array(visits_max, sizeof(struct visit *));
	store->asked = mem_array(visits_max, sizeof(struct visit *));
	sql_column_init(&store->link_id, SQL_COLUMN_INT8, (visits_max + 2) * 12);
	sql_column_init(&store->visitor_hash, SQL_COLUMN_BYTES, (visits_max + 1) * (4 + DIGEST_SIZE));
	return store;
}

void visitor_store_free(struct visitor_store *store)
{
	if (!store)
		return;
	visitor_memory_free(store->memory);
	sql_column_clear(&store->link_id);
	sql_column_clear(&store->visitor_hash);
	free(store->firsts);
	free(store->asked);
	free(store);
}

static void find_firsts(struct visitor_store *store, const struct visit_order *order)
{
	store->firsts_count = 0;
	for (size_t i = 0; i < order->count; i++) {
		struct visit *visit = order->visits[i];
		visit->event.unique = false;
		if (!visit->has_visitor_hash || visit->event.is_bot)
			continue;
		if (store->firsts_count == 0 ||
		    !visit_order_is_same_visitor(store->firsts[store->firsts_count - 1], visit))
			store->firsts[store->firsts_count++] = visit;
	}
}

/* Those who are known to have been before are not unique; the rest are, until the log says otherwise. */
static void ask_memory(struct visitor_store *store)
{
	for (size_t i = 0; i < store->firsts_count; i++)
		store->firsts[i]->event.unique = !visitor_memory_knows(store->memory, store->firsts[i]);
}

static enum err look_up(struct visitor_store *store, struct pg_conn *conn, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	sql_column_reset(&store->link_id);
	sql_column_reset(&store->visitor_hash);
	for (size_t i = 0; i < store->asked_count; i++) {
		sql_column_add_int(&store->link_id, store->asked[i]->event.link_id);
		sql_column_add_bytes(&store->visitor_hash, store->asked[i]->visitor_hash, DIGEST_SIZE);
	}
	pg_params_day(&params, store->asked[0]->day);
	enum err err = sql_column_param(&store->link_id, &params);
	if (err == OK)
		err = sql_column_param(&store->visitor_hash, &params);
	return err == OK ? pg_conn_query(conn, look_up_sql, &params, rows) : err;
}

/* Of those who are asked about, all of one day. */
static enum err ask_log(struct visitor_store *store, struct pg_conn *conn)
{
	struct pg_result *rows = NULL;
	if (store->asked_count == 0)
		return OK;
	enum err err = look_up(store, conn, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		size_t place = (size_t)pg_result_int(rows, i, 0);
		store->asked[place - 1]->event.unique = false;
		store->look_up = LOOK_UP_BATCHES;
	}
	pg_result_free(rows);
	store->asked_count = 0;
	return err;
}

enum err visitor_store_see(struct visitor_store *store, struct pg_conn *conn, const struct visit_order *order)
{
	enum err err = OK;
	find_firsts(store, order);
	ask_memory(store);
	store->asked_count = 0;
	for (size_t i = 0; store->look_up > 0 && err == OK && i < store->firsts_count; i++) {
		struct visit *visit = store->firsts[i];
		if (store->asked_count > 0 && store->asked[0]->day != visit->day)
			err = ask_log(store, conn);
		if (visit->event.unique)
			store->asked[store->asked_count++] = visit;
	}
	return err == OK ? ask_log(store, conn) : err;
}

void visitor_store_keep(struct visitor_store *store)
{
	store->look_up -= store->look_up > 0;
	for (size_t i = 0; i < store->firsts_count; i++)
		visitor_memory_add(store->memory, store->firsts[i]);
}

void visitor_store_doubt(struct visitor_store *store)
{
	store->look_up = LOOK_UP_BATCHES;
}

void visitor_store_forget(struct visitor_store *store)
{
	visitor_memory_forget(store->memory);
	visitor_store_doubt(store);
}
