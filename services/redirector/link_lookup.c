#include "services/redirector/link_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "lib/links/link_store.h"
#include "services/redirector/recent_misses.h"

/* For whether PostgreSQL is away or only slow: a refused connection says so at once. */
#define DOWN_CHECK_MS 200

struct link_lookup {
	struct memory_cache *memory;
	struct link_cache *redis;
	struct pg_pool *postgres;
	struct recent_changes *changes;
	struct unknown_slug_limiter *limiter;
	struct recent_misses *misses;
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

/* One query of asking on behalf of a pending; passed from one kind of worker to the next. */
struct link_query {
	struct link_lookup *lookup;
	struct pending_lookup *pending;
	int64_t read_at_us;   /* steady; before Redis was asked */
	int64_t seen_version; /* that memory knew then */
	bool is_redis_away;
	bool is_redis_behind;
	struct link_cache_reservation reservation; /* for the word that there is no such slug */
	struct link_lookup_waiter leader; /* who began it, while he is in his loop's thread; all zero: he is not */
};

static double count_pending(void *ctx)
{
	return (double)pending_lookups_count(ctx);
}

static struct metric *count_answers(struct metrics *metrics, const char *labels)
{
	return metrics_counter(metrics, "waymark_link_lookups_total", "Look-ups of slugs by who answered them.",
	                       labels);
}

struct link_lookup *link_lookup_new(const struct link_lookup_config *config)
{
	struct link_lookup *lookup = mem_zero(sizeof(*lookup));
	lookup->memory = config->memory;
	lookup->redis = config->redis;
	lookup->postgres = config->postgres;
	lookup->changes = config->changes;
	lookup->limiter = config->limiter;
	lookup->clock = config->clock;
	lookup->misses = recent_misses_new();
	lookup->pending = pending_lookups_new();
	lookup->redis_workers = worker_pool_new("ask-redis", config->workers, config->lookups_max);
	lookup->postgres_workers = worker_pool_new("ask-pg", config->workers, config->lookups_max);
	lookup->from_memory = count_answers(config->metrics, "level=\"memory\"");
	lookup->from_redis = count_answers(config->metrics, "level=\"redis\"");
	lookup->from_postgres = count_answers(config->metrics, "level=\"postgres\"");
	lookup->from_stale_memory = count_answers(config->metrics, "level=\"stale_memory\"");
	lookup->from_filter = count_answers(config->metrics, "level=\"filter\"");
	lookup->from_nowhere = count_answers(config->metrics, "level=\"none\"");
	metrics_gauge_callback(config->metrics, "waymark_link_flights", "Slugs that the stores are being asked for.",
	                       NULL, count_pending, lookup->pending);
	return lookup;
}

void link_lookup_free(struct link_lookup *lookup)
{
	if (!lookup)
		return;
	pending_lookups_free(lookup->pending);
	worker_pool_free(lookup->redis_workers);
	worker_pool_free(lookup->postgres_workers);
	recent_misses_free(lookup->misses);
	free(lookup);
}

enum err link_lookup_in_memory(struct link_lookup *lookup, const char *slug, size_t slug_len, struct link_entry *out)
{
	enum err e = memory_cache_get(lookup->memory, slug, slug_len, clock_steady_us(lookup->clock), out);
	if (e == OK)
		metrics_add(lookup->from_memory, 1);
	return e;
}

static void ask_redis(void *arg);
static void ask_postgres(void *arg);

static void complete(struct link_query *query, enum err result, const struct link_entry *entry)
{
	struct link_lookup *lookup = query->lookup;
	while (!pending_lookups_complete(lookup->pending, query->pending, result, entry)) {
		*query = (struct link_query){ .lookup = lookup, .pending = query->pending };
		query->pending->started_us = clock_steady_us(lookup->clock);
		if (worker_pool_submit(lookup->redis_workers, ask_redis, query) == OK)
			return;
		result = ERR_UNAVAILABLE;
	}
	free(query);
}

/* What is said from now on holds for everybody who is on board. */
static void ask(struct link_query *query)
{
	struct link_lookup *lookup = query->lookup;
	pending_lookups_start_query(lookup->pending, query->pending, clock_steady_us(lookup->clock));
}

/*
 * No store can tell. While PostgreSQL is away nothing can change there, so what memory holds is right as far as it has
 * been told, however old it is; its expiry is judged at the answer, as always. While it is only slow, or we were,
 * something may well have changed.
 */
static void complete_without_stores(struct link_query *query, int64_t wait_ms)
{
	struct link_lookup *lookup = query->lookup;
	const char *slug = query->pending->slug;
	struct link_entry entry;
	enum err e = ERR_NOT_FOUND;
	bool is_away = pg_pool_is_away(lookup->postgres, wait_ms);
	ask(query);
	if (is_away)
		e = memory_cache_get_stale(lookup->memory, slug, strlen(slug), &entry);
	metrics_add(e == OK ? lookup->from_stale_memory : lookup->from_nowhere, 1);
	complete(query, e == OK ? OK : ERR_UNAVAILABLE, &entry);
}

static void pass_on(struct link_query *query, struct worker_pool *workers, worker_pool_job job)
{
	if (worker_pool_submit(workers, job, query) == OK)
		return;
	complete_without_stores(query, 0);
}

/*
 * What memory held by the time a worker came to it: another pending of this slug may have ended just before ours began.
 */
static bool is_answered_by_memory(struct link_query *query)
{
	struct link_lookup *lookup = query->lookup;
	const char *slug = query->pending->slug;
	struct link_entry entry;
	ask(query);
	if (link_lookup_in_memory(lookup, slug, strlen(slug), &entry) != OK)
		return false;
	complete(query, OK, &entry);
	return true;
}

static void answer_with(struct link_query *query, struct link_entry *entry, int64_t read_at_us, struct metric *from)
{
	memory_cache_merge(query->lookup->memory, entry, read_at_us);
	metrics_add(from, 1);
	complete(query, OK, entry);
}

/* What has to be known before the question goes out. */
static void prepare_to_ask(struct link_query *query)
{
	struct link_lookup *lookup = query->lookup;
	const char *slug = query->pending->slug;
	query->read_at_us = clock_steady_us(lookup->clock);
	query->seen_version = memory_cache_version(lookup->memory, slug, strlen(slug));
	pending_lookups_start_query(lookup->pending, query->pending, query->read_at_us);
}

static void complete_unknown(struct link_query *query)
{
	metrics_add(query->lookup->from_filter, 1);
	complete(query, ERR_NOT_FOUND, NULL);
}

/*
 * The reservation was reserved before the filter was asked, so the word is put there only if nobody has created the slug
 * since.
 */
static void write_unknown_to_redis(void *arg)
{
	struct link_query *query = arg;
	enum err e = link_cache_fill_unknown(query->lookup->redis, &query->reservation, query->pending->slug);
	(void)e; /* best effort */
	complete_unknown(query);
}

/* An unknown_slug_limiter_callback. */
static void on_limiter_decision(void *visitor, enum err decision)
{
	struct link_query *query = visitor;
	struct link_lookup *lookup = query->lookup;
	const char *slug = query->pending->slug;
	if (decision != ERR_NOT_FOUND) {
		pass_on(query, lookup->postgres_workers, ask_postgres);
		return;
	}
	recent_misses_add(lookup->misses, slug, strlen(slug), clock_steady_us(lookup->clock));
	bool is_reserved = query->reservation.generation != 0;
	if (!is_reserved || worker_pool_submit(lookup->redis_workers, write_unknown_to_redis, query) != OK)
		complete_unknown(query);
}

/* True if the filter will tell that there is no such slug. */
static bool is_held_by_limiter(struct link_query *query)
{
	/* The gate answers for those who have come before it is asked. */
	ask(query);
	return unknown_slug_limiter_hold(query->lookup->limiter, query->pending->slug, on_limiter_decision, query);
}

/* A slug that is asked for again and again: Redis shall say next time that there is none, without any waiting. */
static void hold_and_write_unknown(void *arg)
{
	struct link_query *query = arg;
	link_cache_reserve(query->lookup->redis, query->pending->slug, &query->reservation);
	if (!is_held_by_limiter(query))
		pass_on(query, query->lookup->postgres_workers, ask_postgres);
}

/* Neither memory nor Redis has it: true if PostgreSQL need not be asked for now. */
static bool is_kept_from_postgres(struct link_query *query)
{
	struct link_lookup *lookup = query->lookup;
	const char *slug = query->pending->slug;
	if (query->seen_version > 0)
		return false;
	if (!query->is_redis_away &&
	    recent_misses_has(lookup->misses, slug, strlen(slug), clock_steady_us(lookup->clock)))
		return worker_pool_submit(lookup->redis_workers, hold_and_write_unknown, query) == OK;
	return is_held_by_limiter(query);
}

/* The first waiter has to know when his pending is in other hands than his own thread's. */
static void leave_loop(struct link_query *query)
{
	if (query->leader.leave_loop)
		query->leader.leave_loop(query->leader.waiter);
	query->leader = (struct link_lookup_waiter){ 0 };
}

/* A link_cache_told. */
static void take_answer_of_redis(void *ctx, enum link_cache_answer answer, struct link_entry *entry)
{
	struct link_query *query = ctx;
	struct link_lookup *lookup = query->lookup;
	if (answer == LINK_CACHE_ENTRY && entry->version >= query->seen_version) {
		answer_with(query, entry, query->read_at_us, lookup->from_redis);
	} else if (answer == LINK_CACHE_UNKNOWN && query->seen_version == 0) {
		metrics_add(lookup->from_redis, 1);
		complete(query, ERR_NOT_FOUND, NULL);
	} else {
		leave_loop(query);
		query->is_redis_away = answer == LINK_CACHE_AWAY;
		query->is_redis_behind = answer == LINK_CACHE_ENTRY;
		if (query->is_redis_behind || !is_kept_from_postgres(query))
			pass_on(query, lookup->postgres_workers, ask_postgres);
	}
}

static void ask_redis(void *arg)
{
	struct link_query *query = arg;
	struct link_entry entry;
	if (is_answered_by_memory(query))
		return;
	prepare_to_ask(query);
	enum link_cache_answer answer = link_cache_get(query->lookup->redis, query->pending->slug, &entry);
	take_answer_of_redis(query, answer, &entry);
}

/* A connection that broke while it was idle says so at its first use: the second try gets a new one. */
static enum err find_in_postgres(struct link_lookup *lookup, const char *slug, struct link_entry *out)
{
	enum err e = ERR_UNAVAILABLE;
	bool is_worth_trying = true;
	for (int tries = 0; tries < 2 && is_worth_trying; tries++) {
		struct pg_conn *conn = NULL;
		if (pg_pool_take(lookup->postgres, &conn) != OK)
			return ERR_UNAVAILABLE;
		e = link_store_find_entry(conn, slug, out);
		is_worth_trying = e == ERR_UNAVAILABLE && !pg_conn_timed_out(conn);
		pg_pool_give(lookup->postgres, conn);
	}
	return e == OK || e == ERR_NOT_FOUND ? e : ERR_UNAVAILABLE;
}

static void tell_redis(struct link_lookup *lookup, const char *slug, const struct link_cache_reservation *reservation,
                       enum err found, const struct link_entry *entry, int64_t read_at_us)
{
	if ((found != OK && found != ERR_NOT_FOUND) ||
	    !recent_changes_start_fill(lookup->changes, slug, strlen(slug), read_at_us, clock_steady_us(lookup->clock)))
		return;
	/* Best effort: link_cache logs what fails, and a newer version there is as good. */
	enum err e = OK;
	if (found == OK)
		e = link_cache_fill(lookup->redis, reservation, entry);
	else
		e = link_cache_fill_unknown(lookup->redis, reservation, slug);
	(void)e;
}

/* A link that memory knew and PostgreSQL does not was purged: what is left of it must not be believed again. */
static void mark_purged_in_memory(struct link_lookup *lookup, const char *slug, int64_t read_at_us)
{
	struct link_entry entry;
	if (memory_cache_get_stale(lookup->memory, slug, strlen(slug), &entry) != OK)
		return;
	entry.state = LINK_STATE_DELETED;
	entry.version++;
	memory_cache_merge(lookup->memory, &entry, read_at_us);
}

/*
 * Without PostgreSQL, what Redis holds is the best there is, even if memory has seen a newer version: merge picks that.
 */
static enum err fall_back_on_redis(struct link_query *query, struct link_entry *out)
{
	struct link_lookup *lookup = query->lookup;
	if ((!query->is_redis_behind && !query->is_redis_away) || !pg_pool_is_away(lookup->postgres, DOWN_CHECK_MS))
		return ERR_UNAVAILABLE;
	ask(query);
	enum link_cache_answer answer = link_cache_get_last_resort(lookup->redis, query->pending->slug, out);
	return answer == LINK_CACHE_ENTRY ? OK : ERR_UNAVAILABLE;
}

static void ask_postgres(void *arg)
{
	struct link_query *query = arg;
	struct link_lookup *lookup = query->lookup;
	const char *slug = query->pending->slug;
	int64_t read_at_us = clock_steady_us(lookup->clock);
	struct link_entry entry;
	struct link_cache_reservation reservation = { 0 };
	enum err found = ERR_UNAVAILABLE;
	if (read_at_us - query->pending->started_us <= LINK_LOOKUP_TIMEOUT_US) {
		pending_lookups_start_query(lookup->pending, query->pending, read_at_us);
		if (!query->is_redis_away)
			link_cache_reserve(lookup->redis, slug, &reservation);
		found = find_in_postgres(lookup, slug, &entry);
	}
	/*
	 * What is gone is said even to a Redis that is not believed just now: it may be again, with what others put
	 * there.
	 */
	if (!query->is_redis_away || found == ERR_NOT_FOUND)
		tell_redis(lookup, slug, &reservation, found, &entry, read_at_us);
	/* Known before PostgreSQL was asked: not a link that was created after it was read. */
	if (found == ERR_NOT_FOUND && query->seen_version > 0)
		mark_purged_in_memory(lookup, slug, read_at_us);

	if (found == OK) {
		answer_with(query, &entry, read_at_us, lookup->from_postgres);
	} else if (found == ERR_NOT_FOUND) {
		metrics_add(lookup->from_postgres, 1);
		complete(query, found, NULL);
	} else if (fall_back_on_redis(query, &entry) == OK) {
		answer_with(query, &entry, read_at_us, lookup->from_redis);
	} else {
		complete_without_stores(query, DOWN_CHECK_MS);
	}
}

bool link_lookup_start(struct link_lookup *lookup, struct redis_pipeline *pipeline, const char *slug, size_t slug_len,
                       const struct link_lookup_waiter *waiter)
{
	struct pending_lookup *pending =
		pending_lookups_join(lookup->pending, slug, slug_len, clock_steady_us(lookup->clock), waiter->on_done,
	                             waiter->ctx, waiter->waiter);
	if (!pending)
		return false;
	struct link_query *query = mem_zero(sizeof(*query));
	*query = (struct link_query){ .lookup = lookup, .pending = pending };
	if (pipeline) {
		prepare_to_ask(query);
		query->leader = *waiter;
		if (link_cache_ask(lookup->redis, pipeline, pending->slug, take_answer_of_redis, query) == OK)
			return true;
		query->leader = (struct link_lookup_waiter){ 0 };
	}
	pass_on(query, lookup->redis_workers, ask_redis);
	return false;
}
