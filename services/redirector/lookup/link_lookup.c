/*
 * The leader of a pending lookup runs these steps (run_steps). Each step returns the next one.
 *
 *   MEMORY ──► REDIS ──► BLOOM_FILTER ──► POSTGRES ──► STALE_MEMORY ──► DONE
 *
 * Any step goes straight to DONE once it has the result. A step that has to continue on another
 * thread, or when a reply or a watermark arrives, returns WAIT: from then on the leader belongs to
 * that thread.
 */
#include "services/redirector/lookup/link_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "lib/links/link_store.h"

/*
 * How long a worker may wait to learn whether PostgreSQL is down or only slow. A refused connection
 * shows it at once.
 */
#define DOWN_CHECK_MS 200
/*
 * A change that the feed has named is committed, so the next query sees it. More are needed only if
 * the link changes again meanwhile, or if PostgreSQL has lost the change in a failover.
 */
#define REREADS_MAX 3

enum step {
	STEP_MEMORY,       /* Redis worker: an earlier lookup may have filled it just now */
	STEP_REDIS,        /* Redis worker, or the loop through its pipeline */
	STEP_BLOOM_FILTER, /* any thread */
	STEP_POSTGRES,     /* PostgreSQL worker */
	STEP_STALE_MEMORY, /* any thread */
	STEP_DONE,         /* any thread */
	STEP_WAIT,         /* not a step: another thread runs the next one */
};

struct link_lookup {
	struct memory_cache *memory;
	struct link_cache *redis;
	struct pg_pool *postgres;
	struct recent_changes *changes;
	struct unknown_slug_limiter *limiter;
	bool is_slug_exact;
	const struct clock *clock;
	struct pending_lookups *pending;
	struct worker_pool *redis_workers;
	struct worker_pool *postgres_workers;
	struct metric *from_memory;
	struct metric *from_redis;
	struct metric *from_postgres;
	struct metric *from_stale_memory;
	struct metric *from_filter;
	struct metric *from_nowhere;
};

/* The state of one lookup between its steps. */
struct leader {
	struct link_lookup *lookup;
	struct pending_lookup *pending;
	enum step step;
	enum err result;
	/* Steady; right before Redis was queried. */
	int64_t read_at_us;
	/* That memory held then; 0: none. */
	int64_t seen_version;
	/* How long this thread may block to learn whether PostgreSQL is down. */
	int64_t down_check_ms;
	bool is_redis_down;
	bool is_redis_stale;
	/* Queries of PostgreSQL that came too early. */
	int rereads;
	/* The first waiter, while its loop runs the lookup; else zero. */
	struct link_lookup_waiter loop_waiter;
};

static double count_pending(void *ctx)
{
	return (double)pending_lookups_count(ctx);
}

static struct metric *count_results(struct metrics *metrics, const char *labels)
{
	return metrics_counter(metrics, "waymark_link_lookups_total",
	                       "Lookups of slugs by the level that answered.", labels);
}

struct link_lookup *link_lookup_new(const struct link_lookup_config *config)
{
	struct link_lookup *lookup = mem_zero(sizeof(*lookup));
	lookup->memory = config->memory;
	lookup->redis = config->redis;
	lookup->postgres = config->postgres;
	lookup->changes = config->changes;
	lookup->limiter = config->limiter;
	lookup->is_slug_exact = config->is_slug_exact;
	lookup->clock = config->clock;
	lookup->pending = pending_lookups_new();
	lookup->redis_workers =
		worker_pool_new("query-redis", config->workers, config->lookups_max);
	lookup->postgres_workers =
		worker_pool_new("query-pg", config->workers, config->lookups_max);
	lookup->from_memory = count_results(config->metrics, "level=\"memory\"");
	lookup->from_redis = count_results(config->metrics, "level=\"redis\"");
	lookup->from_postgres = count_results(config->metrics, "level=\"postgres\"");
	lookup->from_stale_memory = count_results(config->metrics, "level=\"stale_memory\"");
	lookup->from_filter = count_results(config->metrics, "level=\"bloom_filter\"");
	lookup->from_nowhere = count_results(config->metrics, "level=\"none\"");
	metrics_gauge_callback(config->metrics, "waymark_link_lookups_pending",
	                       "Slugs that are being looked up in the stores.", NULL, count_pending,
	                       lookup->pending);
	return lookup;
}

void link_lookup_free(struct link_lookup *lookup)
{
	if (!lookup)
		return;
	pending_lookups_free(lookup->pending);
	worker_pool_free(lookup->redis_workers);
	worker_pool_free(lookup->postgres_workers);
	free(lookup);
}

enum err link_lookup_in_memory(struct link_lookup *lookup, const char *key, size_t key_len,
                               int64_t now_us, struct link_entry *out)
{
	enum err err = memory_cache_get(lookup->memory, key, key_len, now_us, out);
	if (err == OK)
		metrics_add(lookup->from_memory, 1);
	return err;
}

/* --- used by several steps --- */

/* The result of the next query holds for every waiter that has joined by now. */
static void start_query(struct leader *leader, int64_t now_us)
{
	pending_lookups_start_query(leader->lookup->pending, leader->pending, now_us);
}

static enum step end_without(struct leader *leader, enum err result, struct metric *from)
{
	metrics_add(from, 1);
	leader->result = result;
	return STEP_DONE;
}

static enum step end_not_found(struct leader *leader, struct metric *from)
{
	return end_without(leader, ERR_NOT_FOUND, from);
}

/*
 * entry becomes the newer version if memory has one. False: that one lacks its extras, because the
 * feed has named a change for which this read came too early.
 */
static bool end_found(struct leader *leader, struct link_entry *entry, int64_t read_at_us,
                      struct metric *from)
{
	memory_cache_merge(leader->lookup->memory, entry, read_at_us);
	if (entry->lacks_extras)
		return false;
	metrics_add(from, 1);
	leader->result = OK;
	return true;
}

static void run_on_worker(void *arg);

/* True: a worker of the pool runs the step. False: the pool's queue is full. */
static bool hand_over(struct leader *leader, struct worker_pool *workers, enum step step)
{
	leader->step = step;
	return worker_pool_submit(workers, run_on_worker, leader) == OK;
}

static enum step continue_with_postgres(struct leader *leader)
{
	return hand_over(leader, leader->lookup->postgres_workers, STEP_POSTGRES)
	               ? STEP_WAIT
	               : STEP_STALE_MEMORY;
}

/* The lookup is about to leave the loop's thread, which the first waiter has to know. */
static void leave_loop(struct leader *leader)
{
	if (leader->loop_waiter.leave_loop)
		leader->loop_waiter.leave_loop(leader->loop_waiter.waiter);
	leader->loop_waiter = (struct link_lookup_waiter){ 0 };
}

/* --- memory --- */

static enum step check_memory(struct leader *leader, struct link_entry *entry)
{
	struct link_lookup *lookup = leader->lookup;
	const char *key = leader->pending->key;
	int64_t now_us = clock_steady_us(lookup->clock);
	start_query(leader, now_us);
	if (link_lookup_in_memory(lookup, key, strlen(key), now_us, entry) != OK)
		return STEP_REDIS;
	leader->result = OK;
	return STEP_DONE;
}

/* --- Redis --- */

static void prepare_redis_query(struct leader *leader)
{
	struct link_lookup *lookup = leader->lookup;
	const char *key = leader->pending->key;
	leader->read_at_us = clock_steady_us(lookup->clock);
	leader->seen_version = memory_cache_version(lookup->memory, key, strlen(key));
	start_query(leader, leader->read_at_us);
}

static enum step use_redis_result(struct leader *leader, enum link_cache_result result,
                                  struct link_entry *entry)
{
	struct link_lookup *lookup = leader->lookup;
	if (result == LINK_CACHE_ENTRY && entry->version >= leader->seen_version &&
	    end_found(leader, entry, leader->read_at_us, lookup->from_redis))
		return STEP_DONE;
	if (result == LINK_CACHE_UNKNOWN && leader->seen_version == 0)
		return end_not_found(leader, lookup->from_redis);

	leave_loop(leader);
	leader->is_redis_down = result == LINK_CACHE_UNAVAILABLE;
	leader->is_redis_stale = result == LINK_CACHE_ENTRY;
	/* Memory knows the key, so it was issued, and the Bloom filter cannot answer. */
	if (leader->is_redis_stale || leader->seen_version > 0)
		return continue_with_postgres(leader);
	return STEP_BLOOM_FILTER;
}

static enum step query_redis(struct leader *leader, struct link_entry *entry)
{
	prepare_redis_query(leader);
	return use_redis_result(
		leader, link_cache_get(leader->lookup->redis, leader->pending->key, entry), entry);
}

/* --- the Bloom filter --- */

static void on_limiter_decision(void *ctx, enum err decision);

static enum step check_bloom_filter(struct leader *leader)
{
	struct link_lookup *lookup = leader->lookup;
	start_query(leader, clock_steady_us(lookup->clock));
	if (unknown_slug_limiter_hold(lookup->limiter, leader->pending->key, on_limiter_decision,
	                              leader))
		return STEP_WAIT;
	return continue_with_postgres(leader);
}

static enum step use_limiter_decision(struct leader *leader, enum err decision)
{
	return decision == ERR_NOT_FOUND ? end_not_found(leader, leader->lookup->from_filter)
	                                 : continue_with_postgres(leader);
}

/* --- PostgreSQL --- */

/* A connection that broke while idle fails at its first use; the second attempt gets a new one. */
static enum err find_in_postgres(struct link_lookup *lookup, const char *key,
                                 struct link_entry *out)
{
	enum err err = ERR_UNAVAILABLE;
	bool should_try = true;
	for (int attempts = 0; attempts < 2 && should_try; attempts++) {
		struct pg_conn *conn = NULL;
		if (pg_pool_acquire(lookup->postgres, &conn) != OK)
			return ERR_UNAVAILABLE;
		err = link_store_find_entry(conn, key, out);
		should_try = err == ERR_UNAVAILABLE && !pg_conn_timed_out(conn);
		pg_pool_release(lookup->postgres, conn);
	}
	/* The key of the other kind was looked up before this one. */
	bool is_last = (key[0] == '=') != lookup->is_slug_exact;
	if (err == ERR_CONFLICT && is_last)
		return ERR_NOT_FOUND;
	return err == OK || err == ERR_NOT_FOUND || err == ERR_CONFLICT ? err : ERR_UNAVAILABLE;
}

static void fill_redis(struct link_lookup *lookup, const char *key,
                       const struct link_cache_reservation *reservation, enum err found,
                       const struct link_entry *entry, int64_t read_at_us)
{
	if ((found != OK && found != ERR_NOT_FOUND) ||
	    !recent_changes_start_fill(lookup->changes, key, strlen(key), read_at_us,
	                               clock_steady_us(lookup->clock)))
		return;
	/* Best effort: link_cache logs errors, and a newer version in Redis is as good. */
	enum err err = OK;
	if (found == OK)
		err = link_cache_fill(lookup->redis, reservation, entry);
	else
		err = link_cache_fill_unknown(lookup->redis, reservation, key);
	(void)err;
}

/*
 * While PostgreSQL is down, the entry in Redis is the best there is. If memory has seen a newer
 * version, end_found returns that one.
 */
static enum err find_in_redis_as_last_resort(struct leader *leader, struct link_entry *out)
{
	struct link_lookup *lookup = leader->lookup;
	if ((!leader->is_redis_stale && !leader->is_redis_down) ||
	    !pg_pool_is_down(lookup->postgres, leader->down_check_ms))
		return ERR_UNAVAILABLE;
	start_query(leader, clock_steady_us(lookup->clock));
	enum link_cache_result result =
		link_cache_get_last_resort(lookup->redis, leader->pending->key, out);
	return result == LINK_CACHE_ENTRY ? OK : ERR_UNAVAILABLE;
}

static enum step query_postgres(struct leader *leader, struct link_entry *entry)
{
	struct link_lookup *lookup = leader->lookup;
	const char *key = leader->pending->key;
	int64_t read_at_us = clock_steady_us(lookup->clock);
	struct link_cache_reservation reservation = { 0 };
	enum err found = ERR_UNAVAILABLE;
	leader->down_check_ms = DOWN_CHECK_MS;
	if (read_at_us - leader->pending->started_us <= LINK_LOOKUP_TIMEOUT_US) {
		start_query(leader, read_at_us);
		if (!leader->is_redis_down)
			link_cache_reserve(lookup->redis, key, &reservation);
		found = find_in_postgres(lookup, key, entry);
	}
	/*
	 * "Unknown" is written to Redis even while its content is invalid. Otherwise it could become
	 * valid again with the entry of a purged link.
	 */
	if (!leader->is_redis_down || found == ERR_NOT_FOUND)
		fill_redis(lookup, key, &reservation, found, entry, read_at_us);
	/*
	 * Memory knew the link before the query, so PostgreSQL lacks it because it was purged. Late
	 * copies must not be served.
	 */
	if (found == ERR_NOT_FOUND && leader->seen_version > 0)
		memory_cache_set_purged(lookup->memory, key, strlen(key), read_at_us);

	if (found == OK && end_found(leader, entry, read_at_us, lookup->from_postgres))
		return STEP_DONE;
	if (found == OK && leader->rereads++ < REREADS_MAX)
		return STEP_POSTGRES;
	if (found == ERR_NOT_FOUND || found == ERR_CONFLICT)
		return end_without(leader, found, lookup->from_postgres);
	if (find_in_redis_as_last_resort(leader, entry) == OK &&
	    end_found(leader, entry, read_at_us, lookup->from_redis))
		return STEP_DONE;
	return STEP_STALE_MEMORY;
}

/* --- no store can answer --- */

/*
 * While PostgreSQL is down nothing can change there, so memory is right however old it is; the
 * expiry is checked at the response, as always. While PostgreSQL or this process is only slow, the
 * link may have changed.
 */
static enum step check_stale_memory(struct leader *leader, struct link_entry *entry)
{
	struct link_lookup *lookup = leader->lookup;
	const char *key = leader->pending->key;
	enum err err = ERR_NOT_FOUND;
	bool is_down = pg_pool_is_down(lookup->postgres, leader->down_check_ms);
	start_query(leader, clock_steady_us(lookup->clock));
	if (is_down)
		err = memory_cache_get_stale(lookup->memory, key, strlen(key), entry);
	metrics_add(err == OK ? lookup->from_stale_memory : lookup->from_nowhere, 1);
	leader->result = err == OK ? OK : ERR_UNAVAILABLE;
	return STEP_DONE;
}

/* --- done --- */

/* Completes the waiters for which the result holds; starts over for those that joined late. */
static enum step complete(struct leader *leader, const struct link_entry *entry)
{
	struct link_lookup *lookup = leader->lookup;
	if (pending_lookups_complete(lookup->pending, leader->pending, leader->result, entry)) {
		free(leader);
		return STEP_WAIT;
	}
	*leader = (struct leader){ .lookup = lookup,
		                   .pending = leader->pending,
		                   .result = ERR_UNAVAILABLE };
	leader->pending->started_us = clock_steady_us(lookup->clock);
	return hand_over(leader, lookup->redis_workers, STEP_MEMORY) ? STEP_WAIT : STEP_DONE;
}

/* --- the steps --- */

/* Runs steps until the lookup completes or continues elsewhere; then leader is gone. */
static void run_steps(struct leader *leader, enum step step, struct link_entry *entry)
{
	while (step != STEP_WAIT) {
		switch (step) {
		case STEP_MEMORY:
			step = check_memory(leader, entry);
			break;
		case STEP_REDIS:
			step = query_redis(leader, entry);
			break;
		case STEP_BLOOM_FILTER:
			step = check_bloom_filter(leader);
			break;
		case STEP_POSTGRES:
			step = query_postgres(leader, entry);
			break;
		case STEP_STALE_MEMORY:
			step = check_stale_memory(leader, entry);
			break;
		case STEP_DONE:
			step = complete(leader, entry);
			break;
		case STEP_WAIT:
			break;
		}
	}
}

static void run_on_worker(void *arg)
{
	struct leader *leader = arg;
	struct link_entry entry;
	run_steps(leader, leader->step, &entry);
}

static void on_redis_reply(void *ctx, enum link_cache_result result, struct link_entry *found)
{
	struct leader *leader = ctx;
	struct link_entry entry;
	enum step next = use_redis_result(leader, result, found);
	run_steps(leader, next, next == STEP_DONE ? found : &entry);
}

static void on_limiter_decision(void *ctx, enum err decision)
{
	struct leader *leader = ctx;
	struct link_entry entry;
	run_steps(leader, use_limiter_decision(leader, decision), &entry);
}

bool link_lookup_start(struct link_lookup *lookup, struct redis_pipeline *pipeline, const char *key,
                       size_t key_len, const struct link_lookup_waiter *waiter)
{
	struct pending_lookup *pending =
		pending_lookups_join(lookup->pending, key, key_len, clock_steady_us(lookup->clock),
	                             waiter->on_done, waiter->ctx, waiter->waiter);
	if (!pending)
		return false;
	struct leader *leader = mem_zero(sizeof(*leader));
	*leader = (struct leader){ .lookup = lookup, .pending = pending };
	if (pipeline) {
		prepare_redis_query(leader);
		leader->loop_waiter = *waiter;
		if (link_cache_get_async(lookup->redis, pipeline, pending->key, on_redis_reply,
		                         leader) == OK)
			return true;
		leader->loop_waiter = (struct link_lookup_waiter){ 0 };
	}
	struct link_entry entry;
	bool is_queued = hand_over(leader, lookup->redis_workers, STEP_MEMORY);
	run_steps(leader, is_queued ? STEP_WAIT : STEP_STALE_MEMORY, &entry);
	return false;
}
