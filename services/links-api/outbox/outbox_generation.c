#include "services/links-api/outbox/outbox_generation.h"

#include "lib/links/link_cache_validity.h"
#include "lib/links/link_event.h"

/* Rows that are read together. */
#define UPDATE_ROWS_MAX 256
#define UPDATE_BUDGET_US (CLOCK_US_PER_S / 4)
#define UPDATE_TIMEOUT_DOWN_US (CLOCK_US_PER_S / 4)
#define UPDATE_TIMEOUT_US CLOCK_US_PER_S
#define SKIP_ROWS 10000
#define SKIP_BUDGET_US (CLOCK_US_PER_S / 4)
/*
 * A slower announcement was stuck in the socket of a frozen Redis. A later one, counted from the
 * last confirmation of the lock, comes from a stale relay.
 */
#define ANNOUNCE_TIMEOUT_US (CLOCK_US_PER_S / 5)
#define ANNOUNCE_AFTER_HOLD_US (4 * CLOCK_US_PER_S)

static const char *const reason_names[OUTBOX_GENERATION_REASONS] = { "new_server", "update_timeout",
	                                                             "behind" };
static const char *const reason_labels[OUTBOX_GENERATION_REASONS] = { "reason=\"new_server\"",
	                                                              "reason=\"update_timeout\"",
	                                                              "reason=\"behind\"" };

void outbox_generation_init(struct outbox_generation *g, struct link_cache *cache,
                            struct redis_pool *redis, const struct clock *clock,
                            const struct log *log, struct metrics *metrics)
{
	*g = (struct outbox_generation){
		.cache = cache, .redis = redis, .clock = clock, .log = log
	};
	for (size_t i = 0; i < OUTBOX_GENERATION_REASONS; i++)
		g->raises[i] = metrics_counter(
			metrics, "waymark_link_cache_raises_total",
			"Times the generation of the Redis caches was raised, by reason",
			reason_labels[i]);
}

void outbox_generation_reset(struct outbox_generation *g)
{
	g->generation = 0;
	g->behind_us = 0;
	g->is_raised = false;
}

/* --- in PostgreSQL --- */

enum err outbox_generation_read(struct pg_conn *conn, struct link_cache_epoch *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, "SELECT generation, server FROM link_cache_generation",
	                             NULL, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_INTERNAL;
	if (err == OK) {
		out->generation = pg_result_int(rows, 0, 0);
		out->server = (uint64_t)pg_result_int(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

static enum err update_generation(struct pg_conn *conn, int64_t above, uint64_t server,
                                  struct link_cache_epoch *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, above);
	pg_params_int(&params, (int64_t)server);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"UPDATE link_cache_generation SET generation = greatest(generation, $1::bigint) + 1, "
		"server = $2::bigint, raised_at = clock_timestamp() RETURNING generation",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_INTERNAL;
	if (err == OK)
		*out = (struct link_cache_epoch){ .server = server,
			                          .generation = pg_result_int(rows, 0, 0) };
	pg_result_free(rows);
	return err;
}

enum err outbox_generation_raise(struct pg_conn *conn, const struct fenced_lock *lock,
                                 int64_t above, uint64_t server, struct link_cache_epoch *out)
{
	struct link_cache_epoch raised;
	enum err err = pg_conn_begin(conn);
	if (err != OK)
		return err;
	err = fenced_lock_check(lock, conn);
	if (err == OK)
		err = update_generation(conn, above, server, &raised);
	if (err == OK)
		err = pg_conn_commit(conn);
	else
		pg_conn_rollback(conn);
	if (err == OK)
		*out = raised;
	return err;
}

/* --- rows of the outbox --- */

static bool has_time(const struct outbox_generation *g, int64_t until_steady_us)
{
	return clock_steady_us(g->clock) < until_steady_us;
}

static enum err update_link(const struct outbox_generation *g, const struct link_entry *entry)
{
	const struct link_cache_epoch to = { .server = g->server, .generation = g->generation };
	enum err err = link_cache_set_in_epoch(g->cache, &to, entry);
	return err == ERR_CONFLICT ? OK : err;
}

/* OK: row->cached is set. */
static enum err apply_row(const struct outbox_generation *g, struct outbox_row *row)
{
	struct link_event event;
	enum err err = outbox_row_event(row, &event);
	bool is_kept = err != OK || link_is_respelled(&event.link.entry);
	err = is_kept ? OK : update_link(g, &event.link.entry);
	row->cached = err == OK;
	return err;
}

void outbox_generation_apply(const struct outbox_generation *g, struct outbox_batch *batch,
                             int64_t until_steady_us)
{
	for (size_t i = 0; g->generation && i < batch->count && has_time(g, until_steady_us); i++) {
		if (batch->rows[i].cached)
			continue;
		enum err err = apply_row(g, &batch->rows[i]);
		/*
		 * A key that Redis refuses to set (ERR_INTERNAL, logged by the pool) must not block
		 * the others.
		 */
		if (err == ERR_UNAVAILABLE || err == ERR_LIMIT)
			break;
	}
}

static size_t cached_count(const struct outbox_batch *batch)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->count; i++)
		count += batch->rows[i].cached;
	return count;
}

/*
 * Applies the uncached rows of the table, oldest first, until none is left (is_complete), Redis is
 * down or until_steady_us has passed.
 */
static enum err catch_up(const struct outbox_generation *g, struct pg_conn *conn,
                         int64_t until_steady_us, bool *is_complete)
{
	bool more = true;
	enum err err = OK;
	*is_complete = false;
	while (err == OK && more && has_time(g, until_steady_us)) {
		struct outbox_batch batch = { 0 };
		err = outbox_read_uncached(conn, UPDATE_ROWS_MAX, &batch);
		if (err != OK)
			break;
		outbox_generation_apply(g, &batch, until_steady_us);
		size_t cached = cached_count(&batch);
		if (cached > 0)
			err = outbox_set_cached(conn, &batch);
		*is_complete = err == OK && cached == batch.count && cached < UPDATE_ROWS_MAX;
		more = cached == UPDATE_ROWS_MAX;
		outbox_batch_clear(&batch);
	}
	return err;
}

/* --- in Redis, as soon as possible --- */

static int64_t steady_us(const struct outbox_generation *g)
{
	return clock_steady_us(g->clock);
}

static enum err load(struct outbox_generation *g, struct pg_conn *conn)
{
	struct link_cache_epoch stored;
	enum err err = outbox_generation_read(conn, &stored);
	if (err == OK) {
		g->generation = stored.generation;
		g->server = stored.server;
	}
	return err;
}

static enum err raise_generation(struct outbox_generation *g, struct pg_conn *conn,
                                 const struct fenced_lock *lock,
                                 enum outbox_generation_reason reason, int64_t above,
                                 uint64_t server)
{
	struct link_cache_epoch raised;
	enum err err = outbox_generation_raise(conn, lock, above, server, &raised);
	if (err != OK)
		return err;
	g->generation = raised.generation;
	g->server = raised.server;
	g->is_raised = true;
	g->behind_us = 0;
	metrics_add(g->raises[reason], 1);
	log_warning(g->log, "link_cache_generation_raised",
	            LOG_INT("generation", raised.generation),
	            LOG_TEXT("reason", reason_names[reason]));
	return OK;
}

/* OK: no row waits, or the generation was raised. ERR_LIMIT: rows wait. */
static enum err apply_uncached(struct outbox_generation *g, struct pg_conn *conn,
                               const struct fenced_lock *lock)
{
	int64_t started_us = steady_us(g);
	bool is_complete = false;
	enum err err = catch_up(g, conn, started_us + UPDATE_BUDGET_US, &is_complete);
	if (err != OK)
		return err;
	if (is_complete) {
		g->behind_us = 0;
		return OK;
	}
	if (g->behind_us == 0)
		g->behind_us = started_us;
	int64_t timeout_us =
		redis_pool_is_reachable(g->redis) ? UPDATE_TIMEOUT_US : UPDATE_TIMEOUT_DOWN_US;
	if (steady_us(g) - g->behind_us < timeout_us)
		return ERR_LIMIT;
	return raise_generation(g, conn, lock, OUTBOX_GENERATION_UPDATE_TIMEOUT, 0, g->server);
}

/*
 * Checks the fencing token in the transaction: a stale relay must not skip rows that its successor
 * has to apply.
 */
static enum err skip_batch(struct pg_conn *conn, const struct fenced_lock *lock, int64_t *count)
{
	enum err err = pg_conn_begin(conn);
	if (err != OK)
		return err;
	err = fenced_lock_check(lock, conn);
	if (err == OK)
		err = outbox_skip_uncached(conn, SKIP_ROWS, count);
	if (err == OK)
		return pg_conn_commit(conn);
	pg_conn_rollback(conn);
	return err;
}

/* OK: no row waits any more. */
static enum err skip_uncached(struct outbox_generation *g, struct pg_conn *conn,
                              const struct fenced_lock *lock)
{
	int64_t until_us = steady_us(g) + SKIP_BUDGET_US;
	int64_t count = SKIP_ROWS;
	enum err err = OK;
	while (err == OK && count == SKIP_ROWS)
		err = steady_us(g) < until_us ? skip_batch(conn, lock, &count) : ERR_LIMIT;
	return err;
}

static enum err announce_before(struct outbox_generation *g, int64_t not_after_us,
                                struct link_cache_validity_reply *answer)
{
	/*
	 * From here on Redis may receive it, even without a reply, so later changes must be applied
	 * again.
	 */
	bool was_raised = g->is_raised;
	g->is_raised = false;
	enum err err = link_cache_validity_announce(g->redis, g->generation, g->server,
	                                            not_after_us, answer);
	if (err != OK)
		return err;
	g->offset_us = answer->now_us - steady_us(g);
	if (answer->status != LINK_CACHE_VALIDITY_ANNOUNCED)
		g->is_raised = was_raised;
	return OK;
}

static enum err announce(struct outbox_generation *g, int64_t held_us,
                         struct link_cache_validity_reply *answer)
{
	enum err err = OK;
	/* The first try is late if Redis' clock is unknown or was set. */
	for (int tries = 0; tries < 2; tries++) {
		int64_t until_us = steady_us(g) + ANNOUNCE_TIMEOUT_US;
		int64_t hold_us = held_us + ANNOUNCE_AFTER_HOLD_US;
		err = announce_before(g, g->offset_us + (until_us < hold_us ? until_us : hold_us),
		                      answer);
		if (err != OK || answer->status != LINK_CACHE_VALIDITY_LATE)
			break;
	}
	return err;
}

static void announce_and_check(struct outbox_generation *g, struct pg_conn *conn,
                               const struct fenced_lock *lock, int64_t held_us)
{
	struct link_cache_validity_reply answer;
	if (!redis_pool_is_reachable(g->redis) || announce(g, held_us, &answer) != OK)
		return;
	enum err err = OK;
	if (answer.status == LINK_CACHE_VALIDITY_BEHIND)
		err = raise_generation(g, conn, lock, OUTBOX_GENERATION_BEHIND, answer.number,
		                       answer.server);
	else if (answer.server != g->server)
		err = raise_generation(g, conn, lock, OUTBOX_GENERATION_NEW_SERVER, 0,
		                       answer.server);
	(void)err; /* the next run finds the same */
}

void outbox_generation_maintain(struct outbox_generation *g, struct pg_conn *conn,
                                const struct fenced_lock *lock, int64_t held_us)
{
	int64_t now_us = steady_us(g);
	if (now_us - g->maintained_us < OUTBOX_GENERATION_INTERVAL_MS * CLOCK_US_PER_MS)
		return;
	g->maintained_us = now_us;
	enum err err = g->generation ? OK : load(g, conn);
	uint64_t server = redis_pool_run_id(g->redis);
	if (err == OK && server != 0 && server != g->server)
		err = raise_generation(g, conn, lock, OUTBOX_GENERATION_NEW_SERVER, 0, server);
	if (err == OK && !g->is_raised)
		err = apply_uncached(g, conn, lock);
	if (err == OK && g->is_raised)
		err = skip_uncached(g, conn, lock);
	if (err == OK)
		announce_and_check(g, conn, lock, held_us);
}
