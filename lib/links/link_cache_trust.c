#include "lib/links/link_cache_trust.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/background.h"
#include "lib/base/deadline.h"
#include "lib/base/mem.h"
#include "lib/links/link_cache_generation.h"

#define LOOK_AGE_US (LINK_CACHE_TRUST_LOOK_AGE_MS * CLOCK_US_PER_MS)
#define BEAT_AGE_US (LINK_CACHE_TRUST_BEAT_AGE_MS * CLOCK_US_PER_MS)
#define NO_BEAT (-1)

enum doubt { UNREACHABLE, NOT_ANNOUNCED, OTHER_SERVER, OLD_GENERATION, NO_NEW_BEAT, DOUBTS };

static const char *const doubt_names[DOUBTS] = { "unreachable", "not_announced", "other_server", "old_generation",
	                                         "no_beat" };
static const char *const doubt_labels[DOUBTS] = {
	"reason=\"unreachable\"",    "reason=\"not_announced\"", "reason=\"other_server\"",
	"reason=\"old_generation\"", "reason=\"no_beat\"",
};

struct link_cache_trust {
	struct link_cache_trust_config config;
	struct background *background;

	_Atomic int64_t required;
	_Atomic int64_t seen;

	/*
	 * What the thread publishes. sequence is odd while it writes: readers come again until it was even and the
	 * same.
	 */
	_Atomic uint64_t sequence;
	_Atomic uint64_t server;
	_Atomic int64_t generation;
	_Atomic int64_t until_us[LINK_CACHE_TRUST_LAST_RESORT + 1]; /* steady */

	/* The thread's own. */
	int64_t answered_us; /* when the last look that succeeded began; steady, as all of these */
	int64_t highest;     /* generation */
	int64_t beat;
	int64_t beat_us;    /* when the look began that saw it first */
	int64_t renewed_us; /* when the connections were last doubted */
	bool is_doubtful;
	int64_t doubtful_beat; /* the first that was seen since then, or NO_BEAT */

	struct metric *doubts[DOUBTS];
};

/* --- what is published --- */

static void publish(struct link_cache_trust *t, const struct link_cache_trusted *now, int64_t full_us,
                    int64_t last_resort_us)
{
	atomic_fetch_add(&t->sequence, 1);
	atomic_store(&t->server, now->server);
	atomic_store(&t->generation, now->generation);
	atomic_store(&t->until_us[LINK_CACHE_TRUST_FULL], full_us);
	atomic_store(&t->until_us[LINK_CACHE_TRUST_LAST_RESORT], last_resort_us);
	atomic_fetch_add(&t->sequence, 1);
}

bool link_cache_trust_now(const struct link_cache_trust *trust, enum link_cache_trust_level level,
                          struct link_cache_trusted *out)
{
	uint64_t before, after;
	int64_t until_us;
	do {
		before = atomic_load(&trust->sequence);
		out->server = atomic_load(&trust->server);
		out->generation = atomic_load(&trust->generation);
		until_us = atomic_load(&trust->until_us[level]);
		after = atomic_load(&trust->sequence);
	} while (before != after || before % 2 != 0);
	return clock_steady_us(trust->config.clock) < until_us && out->generation >= atomic_load(&trust->required);
}

void link_cache_trust_require(struct link_cache_trust *trust, int64_t generation)
{
	int64_t required = atomic_load(&trust->required);
	while (required < generation && !atomic_compare_exchange_weak(&trust->required, &required, generation))
		continue;
}

int64_t link_cache_trust_generation(const struct link_cache_trust *trust)
{
	return atomic_load(&trust->seen);
}

/* --- the thread --- */

static void begin_to_doubt(struct link_cache_trust *t, enum doubt why)
{
	t->doubtful_beat = NO_BEAT;
	publish(t, &(struct link_cache_trusted){ 0 }, 0, 0);
	if (t->is_doubtful)
		return;
	t->is_doubtful = true;
	metrics_add(t->doubts[why], 1);
	log_warning(t->config.log, "link_cache_distrusted", LOG_TEXT("reason", doubt_names[why]));
}

static void end_doubt(struct link_cache_trust *t, const struct link_cache_generation *g)
{
	t->is_doubtful = false;
	log_info(t->config.log, "link_cache_trusted", LOG_INT("generation", g->number));
}

/* What is wrong with an announcement in itself; DOUBTS: nothing. */
static enum doubt judge(const struct link_cache_trust *t, enum err err, const struct link_cache_generation *g,
                        uint64_t server)
{
	if (err != OK)
		return NOT_ANNOUNCED;
	if (server == 0 || g->server != server)
		return OTHER_SERVER;
	if (g->number < t->highest || g->number < atomic_load(&t->required))
		return OLD_GENERATION;
	return DOUBTS;
}

/* The relay may be at another server, which has taken the place of the one that our connections lead to. */
static void doubt_connections(struct link_cache_trust *t, int64_t now_us)
{
	if (now_us - t->renewed_us < CLOCK_US_PER_S)
		return;
	t->renewed_us = now_us;
	redis_pool_renew(t->config.redis);
}

static void take_beat(struct link_cache_trust *t, const struct link_cache_generation *g, int64_t asked_us)
{
	if (g->beat != t->beat) {
		t->beat = g->beat;
		t->beat_us = asked_us;
	}
	if (asked_us - t->beat_us > BEAT_AGE_US) {
		begin_to_doubt(t, NO_NEW_BEAT);
		doubt_connections(t, asked_us);
	}
	if (t->is_doubtful && t->doubtful_beat == NO_BEAT)
		t->doubtful_beat = g->beat;
	else if (t->is_doubtful && g->beat != t->doubtful_beat)
		end_doubt(t, g);
}

static void take_answer(struct link_cache_trust *t, enum err err, const struct link_cache_generation *g,
                        uint64_t server, int64_t asked_us)
{
	/*
	 * Trust has run out meanwhile, even if it was we who did not ask: nobody knows what the relay could not tell.
	 */
	if (clock_steady_us(t->config.clock) - t->answered_us > LOOK_AGE_US)
		begin_to_doubt(t, UNREACHABLE);
	if (err != OK && err != ERR_NOT_FOUND)
		return;
	t->answered_us = asked_us;
	if (err == OK)
		atomic_store(&t->seen, g->number);
	enum doubt why = judge(t, err, g, server);
	if (why != DOUBTS) {
		begin_to_doubt(t, why);
		if (why == OTHER_SERVER)
			doubt_connections(t, asked_us);
		return;
	}
	t->highest = g->number;
	take_beat(t, g, asked_us);
	int64_t look_us = asked_us + LOOK_AGE_US;
	int64_t beat_us = t->beat_us + BEAT_AGE_US;
	int64_t full_us = look_us < beat_us ? look_us : beat_us;
	publish(t, &(struct link_cache_trusted){ server, g->number }, t->is_doubtful ? 0 : full_us, look_us);
}

static void look(struct link_cache_trust *t)
{
	struct link_cache_generation g = { 0 };
	uint64_t server = 0;
	int64_t asked_us = clock_steady_us(t->config.clock);
	enum err err = link_cache_generation_read(t->config.redis, &g, &server);
	take_answer(t, err, &g, server, asked_us);
}

static void run(void *ctx)
{
	struct link_cache_trust *t = ctx;
	struct timespec next;
	do {
		next = deadline_in_ms(LINK_CACHE_TRUST_LOOK_MS);
		look(t);
	} while (!background_wait_until(t->background, next));
}

/* --- the handle --- */

static double is_trusted(void *ctx)
{
	struct link_cache_trusted now;
	return link_cache_trust_now(ctx, LINK_CACHE_TRUST_FULL, &now) ? 1 : 0;
}

static double seen_generation(void *ctx)
{
	return (double)link_cache_trust_generation(ctx);
}

static void register_metrics(struct link_cache_trust *t, struct metrics *metrics)
{
	if (!metrics)
		return;
	for (size_t i = 0; i < DOUBTS; i++)
		t->doubts[i] = metrics_counter(metrics, "waymark_link_cache_distrusts_total",
		                               "Times at which Redis' links stopped being believed", doubt_labels[i]);
	metrics_gauge_callback(metrics, "waymark_link_cache_trusted", "1 while Redis' links are believed", NULL,
	                       is_trusted, t);
	metrics_gauge_callback(metrics, "waymark_link_cache_generation",
	                       "Generation of Redis' links that was seen last", NULL, seen_generation, t);
}

struct link_cache_trust *link_cache_trust_new(const struct link_cache_trust_config *config)
{
	struct link_cache_trust *t = mem_zero(sizeof(*t));
	t->config = *config;
	t->answered_us = t->renewed_us = clock_steady_us(config->clock);
	t->is_doubtful = true;
	t->doubtful_beat = NO_BEAT;
	register_metrics(t, config->metrics);
	t->background = background_new();
	background_start(t->background, "redis-trust", run, t);
	return t;
}

void link_cache_trust_free(struct link_cache_trust *trust)
{
	if (!trust)
		return;
	background_free(trust->background);
	free(trust);
}
