#include "services/redirector/link_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "lib/links/link_store.h"
#include "services/redirector/denial_log.h"

/* For whether PostgreSQL is away or only slow: a refused connection says so at once. */
#define VERDICT_WAIT_MS 200

struct link_lookup {
	struct memory_cache *memory;
	struct link_cache *redis;
	struct pg_pool *postgres;
	struct change_clock *changes;
	struct unknown_gate *gate;
	struct denial_log *denials;
	const struct clock *clock;
	struct flight_table *flights;
	struct worker_pool *redis_workers;
	struct worker_pool *postgres_workers;
	struct metric *from_memory;
	struct metric *from_redis;
	struct metric *from_postgres;
	struct metric *from_stale_memory;
	struct metric *from_filter;
	struct metric *from_nowhere;
};

/* One round of asking on behalf of a flight; passed from one kind of worker to the next. */
struct round {
	struct link_lookup *lookup;
	struct flight *flight;
	int64_t read_at_us;   /* steady; before Redis was asked */
	int64_t seen_version; /* that memory knew then */
	bool is_redis_away;
	bool is_redis_behind;
	struct link_cache_reservation place; /* for the word that there is no such slug */
	struct link_lookup_passenger pilot;  /* who began it, while he is in his loop's thread; all zero: he is not */
};

static double count_flights(void *ctx)
{
	return (double)flight_table_count(ctx);
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
	lookup->gate = config->gate;
	lookup->clock = config->clock;
	lookup->denials = denial_log_new();
	lookup->flights = flight_table_new();
	lookup->redis_workers = worker_pool_new("ask-redis", config->workers, config->flights_max);
	lookup->postgres_workers = worker_pool_new("ask-pg", config->workers, config->flights_max);
	lookup->from_memory = count_answers(config->metrics, "level=\"memory\"");
	lookup->from_redis = count_answers(config->metrics, "level=\"redis\"");
	lookup->from_postgres = count_answers(config->metrics, "level=\"postgres\"");
	lookup->from_stale_memory = count_answers(config->metrics, "level=\"stale_memory\"");
	lookup->from_filter = count_answers(config->metrics, "level=\"filter\"");
	lookup->from_nowhere = count_answers(config->metrics, "level=\"none\"");
	metrics_gauge_callback(config->metrics, "waymark_link_flights", "Slugs that the stores are being asked for.",
	                       NULL, count_flights, lookup->flights);
	return lookup;
}

void link_lookup_free(struct link_lookup *lookup)
{
	if (!lookup)
		return;
	flight_table_free(lookup->flights);
	worker_pool_free(lookup->redis_workers);
	worker_pool_free(lookup->postgres_workers);
	denial_log_free(lookup->denials);
	free(lookup);
}

enum err link_lookup_recall(struct link_lookup *lookup, const char *slug, size_t slug_len, struct link_entry *out)
{
	enum err e = memory_cache_get(lookup->memory, slug, slug_len, clock_steady_us(lookup->clock), out);
	if (e == OK)
		metrics_add(lookup->from_memory, 1);
	return e;
}

static void ask_redis(void *arg);
static void ask_postgres(void *arg);

static void land(struct round *round, enum err result, const struct link_entry *entry)
{
	struct link_lookup *lookup = round->lookup;
	while (!flight_table_land(lookup->flights, round->flight, result, entry)) {
		*round = (struct round){ .lookup = lookup, .flight = round->flight };
		round->flight->began_us = clock_steady_us(lookup->clock);
		if (worker_pool_submit(lookup->redis_workers, ask_redis, round) == OK)
			return;
		result = ERR_UNAVAILABLE;
	}
	free(round);
}

/* What is said from now on holds for everybody who is on board. */
static void ask(struct round *round)
{
	struct link_lookup *lookup = round->lookup;
	flight_table_ask(lookup->flights, round->flight, clock_steady_us(lookup->clock));
}

/*
 * No store can tell. While PostgreSQL is away nothing can change there, so what memory holds is right as far as it has
 * been told, however old it is; its expiry is judged at the answer, as always. While it is only slow, or we were,
 * something may well have changed.
 */
static void land_without_stores(struct round *round, int64_t wait_ms)
{
	struct link_lookup *lookup = round->lookup;
	const char *slug = round->flight->slug;
	struct link_entry entry;
	enum err e = ERR_NOT_FOUND;
	bool is_away = pg_pool_is_away(lookup->postgres, wait_ms);
	ask(round);
	if (is_away)
		e = memory_cache_get_stale(lookup->memory, slug, strlen(slug), &entry);
	metrics_add(e == OK ? lookup->from_stale_memory : lookup->from_nowhere, 1);
	land(round, e == OK ? OK : ERR_UNAVAILABLE, &entry);
}

static void pass_on(struct round *round, struct worker_pool *workers, worker_pool_job job)
{
	if (worker_pool_submit(workers, job, round) == OK)
		return;
	land_without_stores(round, 0);
}

/*
 * What memory held by the time a worker came to it: another flight of this slug may have ended just before ours began.
 */
static bool is_answered_by_memory(struct round *round)
{
	struct link_lookup *lookup = round->lookup;
	const char *slug = round->flight->slug;
	struct link_entry entry;
	ask(round);
	if (link_lookup_recall(lookup, slug, strlen(slug), &entry) != OK)
		return false;
	land(round, OK, &entry);
	return true;
}

static void answer_with(struct round *round, struct link_entry *entry, int64_t read_at_us, struct metric *from)
{
	memory_cache_merge(round->lookup->memory, entry, read_at_us);
	metrics_add(from, 1);
	land(round, OK, entry);
}

/* What has to be known before the question goes out. */
static void prepare_to_ask(struct round *round)
{
	struct link_lookup *lookup = round->lookup;
	const char *slug = round->flight->slug;
	round->read_at_us = clock_steady_us(lookup->clock);
	round->seen_version = memory_cache_version(lookup->memory, slug, strlen(slug));
	flight_table_ask(lookup->flights, round->flight, round->read_at_us);
}

static void land_denied(struct round *round)
{
	metrics_add(round->lookup->from_filter, 1);
	land(round, ERR_NOT_FOUND, NULL);
}

/*
 * The place was reserved before the filter was asked, so the word is put there only if nobody has created the slug
 * since.
 */
static void tell_redis_of_denial(void *arg)
{
	struct round *round = arg;
	enum err e = link_cache_fill_unknown(round->lookup->redis, &round->place, round->flight->slug);
	(void)e; /* best effort */
	land_denied(round);
}

/* An unknown_gate_told. */
static void take_verdict(void *visitor, enum err verdict)
{
	struct round *round = visitor;
	struct link_lookup *lookup = round->lookup;
	const char *slug = round->flight->slug;
	if (verdict != ERR_NOT_FOUND) {
		pass_on(round, lookup->postgres_workers, ask_postgres);
		return;
	}
	denial_log_note(lookup->denials, slug, strlen(slug), clock_steady_us(lookup->clock));
	bool is_reserved = round->place.generation != 0;
	if (!is_reserved || worker_pool_submit(lookup->redis_workers, tell_redis_of_denial, round) != OK)
		land_denied(round);
}

/* True if the filter will tell that there is no such slug. */
static bool is_held_at_the_gate(struct round *round)
{
	/* The gate answers for those who have come before it is asked. */
	ask(round);
	return unknown_gate_hold(round->lookup->gate, round->flight->slug, take_verdict, round);
}

/* A slug that is asked for again and again: Redis shall say next time that there is none, without any waiting. */
static void deny_and_tell_redis(void *arg)
{
	struct round *round = arg;
	link_cache_reserve(round->lookup->redis, round->flight->slug, &round->place);
	if (!is_held_at_the_gate(round))
		pass_on(round, round->lookup->postgres_workers, ask_postgres);
}

/* Neither memory nor Redis has it: true if PostgreSQL need not be asked for now. */
static bool is_kept_from_postgres(struct round *round)
{
	struct link_lookup *lookup = round->lookup;
	const char *slug = round->flight->slug;
	if (round->seen_version > 0)
		return false;
	if (!round->is_redis_away &&
	    denial_log_has(lookup->denials, slug, strlen(slug), clock_steady_us(lookup->clock)))
		return worker_pool_submit(lookup->redis_workers, deny_and_tell_redis, round) == OK;
	return is_held_at_the_gate(round);
}

/* The first passenger has to know when his flight is in other hands than his own thread's. */
static void leave_loop(struct round *round)
{
	if (round->pilot.leaves_loop)
		round->pilot.leaves_loop(round->pilot.passenger);
	round->pilot = (struct link_lookup_passenger){ 0 };
}

/* A link_cache_told. */
static void take_answer_of_redis(void *ctx, enum link_cache_answer answer, struct link_entry *entry)
{
	struct round *round = ctx;
	struct link_lookup *lookup = round->lookup;
	if (answer == LINK_CACHE_ENTRY && entry->version >= round->seen_version) {
		answer_with(round, entry, round->read_at_us, lookup->from_redis);
	} else if (answer == LINK_CACHE_UNKNOWN && round->seen_version == 0) {
		metrics_add(lookup->from_redis, 1);
		land(round, ERR_NOT_FOUND, NULL);
	} else {
		leave_loop(round);
		round->is_redis_away = answer == LINK_CACHE_AWAY;
		round->is_redis_behind = answer == LINK_CACHE_ENTRY;
		if (round->is_redis_behind || !is_kept_from_postgres(round))
			pass_on(round, lookup->postgres_workers, ask_postgres);
	}
}

static void ask_redis(void *arg)
{
	struct round *round = arg;
	struct link_entry entry;
	if (is_answered_by_memory(round))
		return;
	prepare_to_ask(round);
	enum link_cache_answer answer = link_cache_get(round->lookup->redis, round->flight->slug, &entry);
	take_answer_of_redis(round, answer, &entry);
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

static void tell_redis(struct link_lookup *lookup, const char *slug, const struct link_cache_reservation *place,
                       enum err found, const struct link_entry *entry, int64_t read_at_us)
{
	if ((found != OK && found != ERR_NOT_FOUND) ||
	    !change_clock_fill(lookup->changes, slug, strlen(slug), read_at_us, clock_steady_us(lookup->clock)))
		return;
	/* Best effort: link_cache logs what fails, and a newer version there is as good. */
	enum err e = OK;
	if (found == OK)
		e = link_cache_fill(lookup->redis, place, entry);
	else
		e = link_cache_fill_unknown(lookup->redis, place, slug);
	(void)e;
}

/* A link that memory knew and PostgreSQL does not was purged: what is left of it must not be believed again. */
static void bury_in_memory(struct link_lookup *lookup, const char *slug, int64_t read_at_us)
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
static enum err fall_back_on_redis(struct round *round, struct link_entry *out)
{
	struct link_lookup *lookup = round->lookup;
	if ((!round->is_redis_behind && !round->is_redis_away) || !pg_pool_is_away(lookup->postgres, VERDICT_WAIT_MS))
		return ERR_UNAVAILABLE;
	ask(round);
	enum link_cache_answer answer = link_cache_get_last_resort(lookup->redis, round->flight->slug, out);
	return answer == LINK_CACHE_ENTRY ? OK : ERR_UNAVAILABLE;
}

static void ask_postgres(void *arg)
{
	struct round *round = arg;
	struct link_lookup *lookup = round->lookup;
	const char *slug = round->flight->slug;
	int64_t read_at_us = clock_steady_us(lookup->clock);
	struct link_entry entry;
	struct link_cache_reservation place = { 0 };
	enum err found = ERR_UNAVAILABLE;
	if (read_at_us - round->flight->began_us <= LINK_LOOKUP_PATIENCE_US) {
		flight_table_ask(lookup->flights, round->flight, read_at_us);
		if (!round->is_redis_away)
			link_cache_reserve(lookup->redis, slug, &place);
		found = find_in_postgres(lookup, slug, &entry);
	}
	/*
	 * What is gone is said even to a Redis that is not believed just now: it may be again, with what others put
	 * there.
	 */
	if (!round->is_redis_away || found == ERR_NOT_FOUND)
		tell_redis(lookup, slug, &place, found, &entry, read_at_us);
	/* Known before PostgreSQL was asked: not a link that was created after it was read. */
	if (found == ERR_NOT_FOUND && round->seen_version > 0)
		bury_in_memory(lookup, slug, read_at_us);

	if (found == OK) {
		answer_with(round, &entry, read_at_us, lookup->from_postgres);
	} else if (found == ERR_NOT_FOUND) {
		metrics_add(lookup->from_postgres, 1);
		land(round, found, NULL);
	} else if (fall_back_on_redis(round, &entry) == OK) {
		answer_with(round, &entry, read_at_us, lookup->from_redis);
	} else {
		land_without_stores(round, VERDICT_WAIT_MS);
	}
}

bool link_lookup_fetch(struct link_lookup *lookup, struct redis_pipeline *pipeline, const char *slug, size_t slug_len,
                       const struct link_lookup_passenger *who)
{
	struct flight *flight = flight_table_board(lookup->flights, slug, slug_len, clock_steady_us(lookup->clock),
	                                           who->landed, who->ctx, who->passenger);
	if (!flight)
		return false;
	struct round *round = mem_zero(sizeof(*round));
	*round = (struct round){ .lookup = lookup, .flight = flight };
	if (pipeline) {
		prepare_to_ask(round);
		round->pilot = *who;
		if (link_cache_ask(lookup->redis, pipeline, flight->slug, take_answer_of_redis, round) == OK)
			return true;
		round->pilot = (struct link_lookup_passenger){ 0 };
	}
	pass_on(round, lookup->redis_workers, ask_redis);
	return false;
}
