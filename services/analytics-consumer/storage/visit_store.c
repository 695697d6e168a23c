#include "services/analytics-consumer/storage/visit_store.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "services/analytics-consumer/storage/rollup.h"
#include "services/analytics-consumer/storage/unique_visitors.h"
#include "services/analytics-consumer/storage/visit_log_store.h"

/* So many batches search the log for duplicates after it rejected an insert. */
#define DUPLICATE_CHECK_BATCHES 100
/* One without checks, one with them, one after a commit of another owner in between. */
#define ATTEMPTS_MAX 3
/* Short, because the transaction holds the fence's locks while it waits. */
#define DEAD_LETTERS_TIMEOUT_MS 3000

/* The separator is VISIT_EVENT_TAG_SEPARATOR. */
#define FIND_LINKS_SQL                                                                             \
	"SELECT id, workspace_id, array_to_string(tags, E'\\x1f') FROM links "                     \
	"WHERE id = ANY ($1::bigint[])"
/* Of one id in an array parameter. */
#define ID_BYTES 16

struct link {
	int64_t id;
	int64_t workspace_id;
	/* Borrowed from the batch's link_rows. */
	const char *tags;
	UT_hash_handle hh;
};

struct visit_store {
	struct visit_store_config config;
	/* Those of the batch: an array, and a table of its elements. */
	struct link *links;
	struct link *link_by_id;
	struct sql_column link_ids;
	struct visit_log_store *visit_log;
	struct unique_visitors *visitors;
	struct rollup *rollup;
	/* Room for visit_store_sum. */
	const struct visit **by_link;
	struct statistics *deltas;
	/* Batches. */
	unsigned duplicate_checks_left;
};

struct visit_store *visit_store_new(const struct visit_store_config *config)
{
	struct visit_store *store = mem_zero(sizeof(*store));
	store->config = *config;
	store->links = mem_array(config->visits_max, sizeof(*store->links));
	sql_column_init(&store->link_ids, SQL_COLUMN_INT8, (config->visits_max + 2) * ID_BYTES);
	store->visit_log = visit_log_store_new(config->visits_max);
	store->visitors = unique_visitors_new(config->visits_max);
	store->rollup = rollup_new(config->visits_max);
	store->by_link = mem_array(config->visits_max, sizeof(struct visit *));
	store->deltas = mem_array(config->visits_max + 1, sizeof(*store->deltas));
	return store;
}

void visit_store_free(struct visit_store *store)
{
	if (!store)
		return;
	visit_log_store_free(store->visit_log);
	unique_visitors_free(store->visitors);
	rollup_free(store->rollup);
	sql_column_clear(&store->link_ids);
	HASH_CLEAR(hh, store->link_by_id);
	free(store->links);
	free(store->by_link);
	free(store->deltas);
	free(store);
}

static struct link *find_link(const struct visit_store *store, int64_t id)
{
	struct link *link;
	HASH_FIND(hh, store->link_by_id, &id, sizeof(id), link);
	return link;
}

static void gather_link_ids(struct visit_store *store, const struct visit *visits, size_t count)
{
	HASH_CLEAR(hh, store->link_by_id);
	sql_column_reset(&store->link_ids);
	for (size_t i = 0; i < count; i++) {
		if (find_link(store, visits[i].event.link_id))
			continue;
		struct link *link = &store->links[HASH_COUNT(store->link_by_id)];
		*link = (struct link){ .id = visits[i].event.link_id };
		HASH_ADD(hh, store->link_by_id, id, sizeof(link->id), link);
		sql_column_add_int(&store->link_ids, link->id);
	}
}

/* A link without a row is purged. */
static void set_workspaces(struct visit_store *store, struct batch *batch)
{
	const struct pg_result *rows = batch->link_rows;
	for (size_t row = 0; row < pg_result_count(rows); row++) {
		struct link *link = find_link(store, pg_result_int(rows, row, 0));
		link->workspace_id = pg_result_int(rows, row, 1);
		link->tags = pg_result_text(rows, row, 2);
	}
	for (size_t i = 0; i < batch->count; i++) {
		struct visit_event *event = &batch->visits[i].event;
		const struct link *link = find_link(store, event->link_id);
		event->workspace_id = link->workspace_id;
		event->tags = link->tags;
	}
}

/*
 * Sets event.workspace_id and event.tags of every visit. They are read when the batch is stored, so a
 * repeated event may have newer ones.
 */
static enum err find_workspaces(struct visit_store *store, struct pg_conn *conn,
                                struct batch *batch)
{
	struct pg_params params = { 0 };
	pg_result_free(batch->link_rows);
	batch->link_rows = NULL;
	gather_link_ids(store, batch->visits, batch->count);
	if (batch->count == 0)
		return OK;
	enum err err = sql_column_param(&store->link_ids, &params);
	if (err == OK)
		err = pg_conn_query(conn, FIND_LINKS_SQL, &params, &batch->link_rows);
	if (err == OK)
		set_workspaces(store, batch);
	return err;
}

static int by_link(const void *a, const void *b)
{
	const struct visit *left = *(const struct visit *const *)a;
	const struct visit *right = *(const struct visit *const *)b;
	if (left->event.link_id != right->event.link_id)
		return left->event.link_id < right->event.link_id ? -1 : 1;
	return (left > right) - (left < right);
}

static void add(struct statistics *row, const struct visit *visit)
{
	row->visit_count += !visit->event.is_bot;
	row->bot_count += visit->event.is_bot;
	row->unique_visitors += visit->event.is_unique;
	if (visit->event.occurred_at_us > row->last_visited_at_us)
		row->last_visited_at_us = visit->event.occurred_at_us;
	statistics_store_welford_add(&row->latency_ms,
	                             (double)visit->event.latency_us / (double)CLOCK_US_PER_MS);
}

size_t visit_store_sum(const struct visit_order *order, const struct visit **sorted,
                       struct statistics *rows)
{
	size_t n = order->count;
	bool of_one_day = true;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = order->visits[i];
		of_one_day = of_one_day && order->visits[i]->day == order->visits[0]->day;
	}
	/* Visits of one day are already in the order of links. */
	if (!of_one_day)
		qsort(sorted, n, sizeof(*sorted), by_link);
	rows[0] = (struct statistics){ .link_id = STATISTICS_STORE_PLATFORM };
	struct statistics *row = rows;
	for (size_t i = 0; i < n; i++) {
		if (sorted[i]->event.link_id != row->link_id)
			*++row = (struct statistics){ .link_id = sorted[i]->event.link_id };
		add(row, sorted[i]);
		add(&rows[0], sorted[i]);
	}
	return n == 0 ? 0 : (size_t)(row - rows) + 1;
}

/* Inserts the visits, and sums them up while PostgreSQL works. *rows: of store->deltas. */
static enum err insert_visits(struct visit_store *store, struct pg_conn *conn,
                              const struct batch *batch, size_t *rows)
{
	enum err err = visit_log_store_send(store->visit_log, conn, &batch->order);
	if (err != OK)
		return err;
	*rows = visit_store_sum(&batch->order, store->by_link, store->deltas);
	enum err sums = rollup_prepare(store->rollup, batch->visits, batch->count);
	err = visit_log_store_await(conn);
	return err == OK ? sums : err;
}

/* How a transaction ended. */
enum outcome {
	OUTCOME_STORED,
	OUTCOME_FENCED,
	OUTCOME_ASSUMPTION_WRONG, /* a duplicate, or a visitor wrongly taken as new: repeat it with
	                             checks */
	OUTCOME_FAILED,           /* err says why */
};

/*
 * After an insert: makes the next attempt check all that this one assumed. The name of the violated
 * index does not say which assumption was wrong: PostgreSQL chooses the names in each partition.
 */
static enum outcome check_insert(struct visit_store *store, enum err err)
{
	if (err == OK)
		return OUTCOME_STORED;
	if (err != ERR_CONFLICT)
		return OUTCOME_FAILED;
	store->duplicate_checks_left = DUPLICATE_CHECK_BATCHES;
	unique_visitors_resume_lookups(store->visitors);
	log_debug(store->config.log, "known_event_or_visitor_found");
	return OUTCOME_ASSUMPTION_WRONG;
}

/* Everything between BEGIN and COMMIT. */
static enum outcome add_all(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                            const struct offsets *offsets, enum err *err)
{
	*err = offsets_advance(conn, store->config.topic, offsets);
	if (*err == ERR_CONFLICT)
		return OUTCOME_FENCED;
	if (*err == OK)
		*err = publish_letters_send(batch->dead_letters, store->config.producer,
		                            DEAD_LETTERS_TIMEOUT_MS);
	if (*err == OK && store->duplicate_checks_left > 0)
		*err = visit_log_store_drop_duplicates(store->visit_log, conn, &batch->order);
	if (*err == OK)
		*err = unique_visitors_find(store->visitors, store->visit_log, conn, &batch->order);
	if (*err != OK)
		return OUTCOME_FAILED;
	if (batch->order.count == 0)
		return OUTCOME_STORED;
	size_t rows = 0;
	*err = insert_visits(store, conn, batch, &rows);
	enum outcome outcome = check_insert(store, *err);
	if (outcome != OUTCOME_STORED)
		return outcome;
	*err = rollup_insert(store->rollup, conn);
	if (*err == OK)
		*err = statistics_store_add(conn, store->deltas, rows);
	return *err == OK ? OUTCOME_STORED : OUTCOME_FAILED;
}

static enum outcome transact(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                             const struct offsets *offsets, enum err *err)
{
	*err = pg_conn_begin(conn);
	if (*err != OK)
		return OUTCOME_FAILED;
	enum outcome outcome = add_all(store, conn, batch, offsets, err);
	if (outcome != OUTCOME_STORED) {
		pg_conn_rollback(conn);
		return outcome;
	}
	*err = pg_conn_commit(conn);
	batch->in_doubt = *err == ERR_UNAVAILABLE;
	return *err == OK ? OUTCOME_STORED : OUTCOME_FAILED;
}

/* True when a commit of this batch that had no answer did store it. */
static enum err was_stored(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                           const struct offsets *offsets, bool *out)
{
	enum offsets_outcome outcome = OFFSETS_NOT_STORED;
	*out = false;
	if (!batch->in_doubt)
		return OK;
	enum err err = offsets_find_outcome(conn, store->config.topic, offsets, &outcome);
	if (err != OK || outcome != OFFSETS_STORED)
		return err;
	log_info(store->config.log, "batch_in_doubt_was_stored");
	batch->in_doubt = false;
	*out = true;
	return OK;
}

static enum err add_new(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                        const struct offsets *offsets)
{
	bool is_stored = false;
	enum err err = was_stored(store, conn, batch, offsets, &is_stored);
	if (err != OK || is_stored)
		return err;
	enum outcome outcome = OUTCOME_ASSUMPTION_WRONG;
	for (int attempt = 0; outcome == OUTCOME_ASSUMPTION_WRONG && attempt < ATTEMPTS_MAX;
	     attempt++)
		outcome = transact(store, conn, batch, offsets, &err);
	switch (outcome) {
	case OUTCOME_STORED:
		store->duplicate_checks_left -= store->duplicate_checks_left > 0;
		unique_visitors_commit(store->visitors);
		return OK;
	case OUTCOME_FENCED:
		unique_visitors_invalidate(store->visitors);
		/* A commit in doubt may have arrived only now, and is what fenced this attempt. */
		err = was_stored(store, conn, batch, offsets, &is_stored);
		return err == OK && !is_stored ? ERR_CONFLICT : err;
	case OUTCOME_ASSUMPTION_WRONG:
	case OUTCOME_FAILED:
		break;
	}
	/* Any other conflict is with an unknown writer, and passes. */
	return err == ERR_CONFLICT ? ERR_LIMIT : err;
}

void visit_store_invalidate(struct visit_store *store)
{
	unique_visitors_invalidate(store->visitors);
}

enum err visit_store_add(struct visit_store *store, struct batch *batch,
                         const struct offsets *offsets)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(store->config.pool, &conn);
	if (err != OK)
		return err;
	err = visit_log_store_reload(store->visit_log, conn, batch->visits, batch->count);
	if (err == OK)
		err = find_workspaces(store, conn, batch);
	if (err == OK && offsets_any_advanced(offsets))
		err = add_new(store, conn, batch, offsets);
	pg_pool_release(store->config.pool, conn);
	return err;
}
