#include "services/analytics-consumer/visit_store.h"

#include <string.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/offset_store.h"
#include "services/analytics-consumer/rollup.h"
#include "services/analytics-consumer/rollup_store.h"
#include "services/analytics-consumer/tally.h"
#include "services/analytics-consumer/unique_visitors.h"
#include "services/analytics-consumer/visit_log_store.h"

/* How many batches look out for repeats after one had some. */
#define LOOK_OUT_BATCHES 100
/* A visitor who was taken for new, a repeat behind him, and somebody else's commit between two tries. */
#define SURPRISES_MAX 3
/* The transaction holds the fence's locks meanwhile. */
#define DEAD_LETTERS_TIMEOUT_MS 3000

struct visit_store {
	struct visit_store_config config;
	struct visit_order order;
	struct visit_log_store *visit_log;
	struct unique_visitors *visitors;
	struct rollup *rollup;
	struct rollup_store *rollups;
	struct tally *tally;
	unsigned look_out; /* batches left */
};

struct visit_store *visit_store_new(const struct visit_store_config *config)
{
	struct visit_store *store = mem_zero(sizeof(*store));
	store->config = *config;
	visit_order_init(&store->order, config->visits_max);
	store->visit_log = visit_log_store_new(config->visits_max);
	store->visitors = unique_visitors_new(config->visits_max);
	store->rollup = rollup_new(config->visits_max);
	store->rollups = rollup_store_new(config->visits_max);
	store->tally = tally_new(config->visits_max);
	return store;
}

void visit_store_free(struct visit_store *store)
{
	if (!store)
		return;
	visit_order_clear(&store->order);
	visit_log_store_free(store->visit_log);
	unique_visitors_free(store->visitors);
	rollup_free(store->rollup);
	rollup_store_free(store->rollups);
	tally_free(store->tally);
	free(store);
}

static enum err add_sums(struct visit_store *store, struct pg_conn *conn, const struct batch *batch)
{
	struct rollup_sums sums = rollup_sum(store->rollup, batch->visits, batch->count);
	enum err err = rollup_store_add(store->rollups, conn, store->rollup, &sums);
	if (err != OK)
		return err;
	size_t rows = 0;
	const struct statistics *deltas = tally_sum(store->tally, &store->order, &rows);
	return statistics_store_add(conn, deltas, rows);
}

/* What a transaction came to. */
enum end {
	END_STORED,
	END_FENCED,
	END_SURPRISED, /* by a repeat, or a visitor who was taken for new */
	END_FAILED,    /* err says how */
};

/* The next try will not be, unless another writer commits the like meanwhile. */
static enum end take_insert(struct visit_store *store, const struct pg_conn *conn, enum err err)
{
	if (err == OK)
		return END_STORED;
	if (err != ERR_CONFLICT)
		return END_FAILED;
	bool is_repeat = visit_log_store_met_repeat(conn);
	if (is_repeat)
		store->look_out = LOOK_OUT_BATCHES;
	log_debug(store->config.log, is_repeat ? "repeat_was_counted" : "visitor_was_known");
	unique_visitors_doubt(store->visitors);
	return END_SURPRISED;
}

/* Everything between BEGIN and COMMIT. */
static enum end add_all(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                        const struct progress *progress, enum err *err)
{
	*err = offset_store_advance(conn, store->config.topic, progress);
	if (*err == ERR_CONFLICT)
		return END_FENCED;
	if (*err == OK)
		*err = dead_letter_list_send(batch->dead_letters, store->config.producer, DEAD_LETTERS_TIMEOUT_MS);
	visit_order_sort(&store->order, batch->visits, batch->count);
	if (*err == OK && store->look_out > 0)
		*err = visit_log_store_drop_repeats(store->visit_log, conn, &store->order);
	if (*err == OK)
		*err = unique_visitors_find(store->visitors, store->visit_log, conn, &store->order);
	if (*err != OK)
		return END_FAILED;
	*err = visit_log_store_insert(store->visit_log, conn, &store->order);
	enum end end = take_insert(store, conn, *err);
	if (end != END_STORED)
		return end;
	*err = add_sums(store, conn, batch);
	return *err == OK ? END_STORED : END_FAILED;
}

static enum end transact(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                         const struct progress *progress, enum err *err)
{
	*err = pg_conn_begin(conn);
	if (*err != OK)
		return END_FAILED;
	enum end end = add_all(store, conn, batch, progress, err);
	if (end != END_STORED) {
		pg_conn_rollback(conn);
		return end;
	}
	*err = pg_conn_commit(conn);
	batch->in_doubt = *err == ERR_UNAVAILABLE;
	return *err == OK ? END_STORED : END_FAILED;
}

/* A batch in doubt is looked up before it is done again, and again when the fence then says that it has moved. */
static enum err find_out(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                         const struct progress *progress, enum offset_store_outcome *outcome)
{
	*outcome = OFFSET_STORE_NOT_STORED;
	if (!batch->in_doubt)
		return OK;
	enum err err = offset_store_find_outcome(conn, store->config.topic, progress, outcome);
	if (err == OK && *outcome == OFFSET_STORE_STORED) {
		log_info(store->config.log, "batch_in_doubt_was_stored");
		batch->in_doubt = false;
	}
	return err;
}

static enum err take_fenced(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                            const struct progress *progress)
{
	enum offset_store_outcome outcome;
	enum err err = find_out(store, conn, batch, progress, &outcome);
	if (err != OK)
		return err;
	return outcome == OFFSET_STORE_STORED ? OK : ERR_CONFLICT;
}

static enum err add_new(struct visit_store *store, struct pg_conn *conn, struct batch *batch,
                        const struct progress *progress)
{
	enum offset_store_outcome outcome;
	enum err err = find_out(store, conn, batch, progress, &outcome);
	if (err != OK || outcome == OFFSET_STORE_STORED)
		return err;
	enum end end = END_SURPRISED;
	for (int tries = 0; end == END_SURPRISED && tries < SURPRISES_MAX; tries++)
		end = transact(store, conn, batch, progress, &err);
	switch (end) {
	case END_STORED:
		store->look_out -= store->look_out > 0;
		unique_visitors_keep(store->visitors);
		return OK;
	case END_FENCED:
		unique_visitors_forget(store->visitors);
		return take_fenced(store, conn, batch, progress);
	case END_SURPRISED:
	case END_FAILED:
		break;
	}
	/* What is left of conflicts are those with writers that we do not know of: they pass. */
	return err == ERR_CONFLICT ? ERR_LIMIT : err;
}

/* Whoever made us wait for too long may be frozen. */
static void cut_frozen(const struct visit_store *store, struct pg_conn *conn)
{
	int64_t cut = 0;
	if (pg_conn_usable(conn) && visit_log_store_cut_frozen(conn, &cut) == OK && cut > 0)
		log_warning(store->config.log, "frozen_consumers_cut_off", LOG_INT("count", cut));
}

void visit_store_forget(struct visit_store *store)
{
	unique_visitors_forget(store->visitors);
}

enum err visit_store_add(struct visit_store *store, struct batch *batch, const struct progress *progress)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(store->config.pool, &conn);
	if (err != OK)
		return err;
	err = visit_log_store_reload(store->visit_log, conn, batch->visits, batch->count);
	if (err == OK && progress_moves_any(progress))
		err = add_new(store, conn, batch, progress);
	if (err == ERR_LIMIT)
		cut_frozen(store, conn);
	pg_pool_give(store->config.pool, conn);
	return err;
}
