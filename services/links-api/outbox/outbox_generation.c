#include "services/links-api/outbox/outbox_generation.h"

#include "lib/links/link_cache_generation.h"
#include "lib/links/outbox.h"
#include "services/links-api/outbox/generation_store.h"

#define TELL_WITHIN_US (CLOCK_US_PER_S / 4)
#define UNTOLD_AWAY_US (CLOCK_US_PER_S / 4)
#define UNTOLD_US CLOCK_US_PER_S
#define FORGET_ROWS 10000
#define FORGET_WITHIN_US (CLOCK_US_PER_S / 4)
/* An announcement that takes longer lay in a frozen Redis' socket; one after the other bound is a stale relay's. */
#define ANNOUNCE_WITHIN_US (CLOCK_US_PER_S / 5)
#define ANNOUNCE_AFTER_HOLD_US (4 * CLOCK_US_PER_S)

static const char *const reason_names[OUTBOX_GENERATION_REASONS] = { "new_server", "untold", "behind" };
static const char *const reason_labels[OUTBOX_GENERATION_REASONS] = { "reason=\"new_server\"", "reason=\"untold\"",
	                                                              "reason=\"behind\"" };

void outbox_generation_init(struct outbox_generation *g, struct outbox_teller *teller, struct redis_pool *redis,
                            const struct clock *clock, const struct log *log, struct metrics *metrics)
{
	*g = (struct outbox_generation){ .teller = teller, .redis = redis, .clock = clock, .log = log };
	for (size_t i = 0; i < OUTBOX_GENERATION_REASONS; i++)
		g->raises[i] =
			metrics_counter(metrics, "waymark_link_cache_raises_total",
		                        "Times at which all of Redis' links were declared old", reason_labels[i]);
}

void outbox_generation_leave(struct outbox_generation *g)
{
	g->teller->generation = 0;
	g->behind_us = 0;
	g->is_raised = false;
}

static int64_t steady_us(const struct outbox_generation *g)
{
	return clock_steady_us(g->clock);
}

static enum err load(struct outbox_generation *g, struct pg_conn *conn)
{
	struct link_cache_trusted stored;
	enum err err = generation_store_get(conn, &stored);
	if (err == OK) {
		g->teller->generation = stored.generation;
		g->teller->server = stored.server;
	}
	return err;
}

static enum err raise_it(struct outbox_generation *g, struct pg_conn *conn, const struct fenced_lock *lock,
                         enum outbox_generation_reason why, int64_t above, uint64_t server)
{
	struct link_cache_trusted raised;
	enum err err = generation_store_raise(conn, lock, above, server, &raised);
	if (err != OK)
		return err;
	g->teller->generation = raised.generation;
	g->teller->server = raised.server;
	g->is_raised = true;
	g->behind_us = 0;
	metrics_add(g->raises[why], 1);
	log_warning(g->log, "link_cache_generation_raised", LOG_INT("generation", raised.generation),
	            LOG_TEXT("reason", reason_names[why]));
	return OK;
}

/* OK: nothing waits any more, or the generation has been raised. ERR_LIMIT: something waits. */
static enum err tell(struct outbox_generation *g, struct pg_conn *conn, const struct fenced_lock *lock)
{
	int64_t begun_us = steady_us(g);
	bool is_all_told = false;
	enum err err = outbox_teller_repair(g->teller, conn, begun_us + TELL_WITHIN_US, &is_all_told);
	if (err != OK)
		return err;
	if (is_all_told) {
		g->behind_us = 0;
		return OK;
	}
	if (g->behind_us == 0)
		g->behind_us = begun_us;
	int64_t patience_us = redis_pool_is_reachable(g->redis) ? UNTOLD_US : UNTOLD_AWAY_US;
	if (steady_us(g) - g->behind_us < patience_us)
		return ERR_LIMIT;
	return raise_it(g, conn, lock, OUTBOX_GENERATION_UNTOLD, 0, g->teller->server);
}

/* With the lock held to the commit: a relay that overslept must not take away what its successor has to tell. */
static enum err forget_some(struct pg_conn *conn, const struct fenced_lock *lock, int64_t *count)
{
	enum err err = pg_conn_begin(conn);
	if (err != OK)
		return err;
	err = fenced_lock_check(lock, conn);
	if (err == OK)
		err = outbox_forget_uncached(conn, FORGET_ROWS, count);
	if (err == OK)
		return pg_conn_commit(conn);
	pg_conn_rollback(conn);
	return err;
}

/* OK: nothing waits any more. */
static enum err forget(struct outbox_generation *g, struct pg_conn *conn, const struct fenced_lock *lock)
{
	int64_t until_us = steady_us(g) + FORGET_WITHIN_US;
	int64_t count = FORGET_ROWS;
	enum err err = OK;
	while (err == OK && count == FORGET_ROWS)
		err = steady_us(g) < until_us ? forget_some(conn, lock, &count) : ERR_LIMIT;
	return err;
}

static enum err announce_before(struct outbox_generation *g, int64_t not_after_us,
                                struct link_cache_generation_answer *answer)
{
	/* Once it is under way it may be heard, answer or not: what changes from now on has to be told. */
	bool was_raised = g->is_raised;
	g->is_raised = false;
	enum err err = link_cache_generation_announce(g->redis, g->teller->generation, g->teller->server, not_after_us,
	                                              answer);
	if (err != OK)
		return err;
	g->offset_us = answer->now_us - steady_us(g);
	if (answer->verdict != LINK_CACHE_GENERATION_ANNOUNCED)
		g->is_raised = was_raised;
	return OK;
}

static enum err announce(struct outbox_generation *g, int64_t held_us, struct link_cache_generation_answer *answer)
{
	enum err err = OK;
	/* Late at first when Redis' clock is not known, or was set. */
	for (int tries = 0; tries < 2; tries++) {
		int64_t until_us = steady_us(g) + ANNOUNCE_WITHIN_US;
		int64_t hold_us = held_us + ANNOUNCE_AFTER_HOLD_US;
		err = announce_before(g, g->offset_us + (until_us < hold_us ? until_us : hold_us), answer);
		if (err != OK || answer->verdict != LINK_CACHE_GENERATION_LATE)
			break;
	}
	return err;
}

static void announce_and_judge(struct outbox_generation *g, struct pg_conn *conn, const struct fenced_lock *lock,
                               int64_t held_us)
{
	struct link_cache_generation_answer answer;
	if (!redis_pool_is_reachable(g->redis) || announce(g, held_us, &answer) != OK)
		return;
	enum err err = OK;
	if (answer.verdict == LINK_CACHE_GENERATION_BEHIND)
		err = raise_it(g, conn, lock, OUTBOX_GENERATION_BEHIND, answer.number, answer.server);
	else if (answer.server != g->teller->server)
		err = raise_it(g, conn, lock, OUTBOX_GENERATION_NEW_SERVER, 0, answer.server);
	(void)err; /* the next time will find the same */
}

void outbox_generation_tend(struct outbox_generation *g, struct pg_conn *conn, const struct fenced_lock *lock,
                            int64_t held_us)
{
	int64_t now_us = steady_us(g);
	if (now_us - g->tended_us < OUTBOX_GENERATION_PERIOD_MS * CLOCK_US_PER_MS)
		return;
	g->tended_us = now_us;
	enum err err = g->teller->generation ? OK : load(g, conn);
	uint64_t server = redis_pool_server(g->redis);
	if (err == OK && server != 0 && server != g->teller->server)
		err = raise_it(g, conn, lock, OUTBOX_GENERATION_NEW_SERVER, 0, server);
	if (err == OK && !g->is_raised)
		err = tell(g, conn, lock);
	if (err == OK && g->is_raised)
		err = forget(g, conn, lock);
	if (err == OK)
		announce_and_judge(g, conn, lock, held_us);
}
