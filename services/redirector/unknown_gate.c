#include "services/redirector/unknown_gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

struct waiter {
	struct waiter *next;
	const char *slug;
	unknown_gate_told told;
	void *visitor;
	int64_t wanted_as_of_us; /* wall */
	int64_t until_us;        /* steady */
};

struct unknown_gate {
	struct unknown_gate_config config;
	pthread_mutex_t lock;
	struct waiter *first; /* who has waited longest */
	struct waiter *last;
	size_t count;
	bool closed;
	double tokens;
	int64_t filled_us; /* steady; when tokens were counted last */
	struct metric *held;
	struct metric *denied;
	struct metric *impatient;
};

static size_t count(struct unknown_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	size_t waiting = gate->count;
	pthread_mutex_unlock(&gate->lock);
	return waiting;
}

static double count_waiting(void *ctx)
{
	return (double)count(ctx);
}

bool unknown_gate_is_waited_at(struct unknown_gate *gate)
{
	return count(gate) > 0;
}

struct unknown_gate *unknown_gate_new(const struct unknown_gate_config *config)
{
	struct unknown_gate *gate = mem_zero(sizeof(*gate));
	gate->config = *config;
	gate->filled_us = clock_steady_us(config->clock);
	pthread_mutex_init(&gate->lock, NULL);
	gate->held = metrics_counter(config->metrics, "waymark_unknown_slugs_held_total",
	                             "Slugs not in the filter that waited for the feed.", NULL);
	gate->denied = metrics_counter(config->metrics, "waymark_unknown_slugs_denied_total",
	                               "Slugs answered 404 by the filter.", NULL);
	gate->impatient = metrics_counter(config->metrics, "waymark_unknown_slugs_impatient_total",
	                                  "Slugs that waited for the feed in vain.", NULL);
	metrics_gauge_callback(config->metrics, "waymark_unknown_slugs_waiting", "Slugs that wait for the feed.", NULL,
	                       count_waiting, gate);
	return gate;
}

void unknown_gate_free(struct unknown_gate *gate)
{
	if (!gate)
		return;
	pthread_mutex_destroy(&gate->lock);
	free(gate);
}

/* Whether "not in the filter" means something just now. */
static bool can_tell(const struct unknown_gate *gate)
{
	const struct feed_progress *progress = gate->config.progress;
	const struct slug_filter *filter = gate->config.filter;
	int64_t covered_since_us = atomic_load(&progress->covered_since_us);
	return covered_since_us != FEED_PROGRESS_NOT_COVERING && slug_filter_is_complete(filter, covered_since_us) &&
	       !slug_filter_is_overfull(filter);
}

static bool may_have(const struct unknown_gate *gate, const char *slug)
{
	return slug_filter_may_have(gate->config.filter, slug, strlen(slug));
}

/* With the lock held. Saves up to a second's worth. */
static bool take_token(struct unknown_gate *gate, int64_t now_us)
{
	double most = (double)gate->config.queries_per_second;
	gate->tokens += most * (double)(now_us - gate->filled_us) / (double)CLOCK_US_PER_S;
	gate->filled_us = now_us;
	if (gate->tokens > most)
		gate->tokens = most;
	if (gate->tokens < 1)
		return false;
	gate->tokens -= 1;
	return true;
}

/* With the lock held. */
static void append(struct unknown_gate *gate, struct waiter *waiter)
{
	if (gate->last)
		gate->last->next = waiter;
	else
		gate->first = waiter;
	gate->last = waiter;
	gate->count++;
}

bool unknown_gate_hold(struct unknown_gate *gate, const char *slug, unknown_gate_told told, void *visitor)
{
	int64_t steady_us = clock_steady_us(gate->config.clock);
	if (!feed_progress_is_fresh(gate->config.progress, steady_us) || !can_tell(gate) || may_have(gate, slug))
		return false;
	struct waiter *waiter = mem_zero(sizeof(*waiter));
	*waiter = (struct waiter){
		.slug = slug,
		.told = told,
		.visitor = visitor,
		.wanted_as_of_us = clock_now_us(gate->config.clock) + UNKNOWN_GATE_CLOCK_SKEW_US,
		.until_us = steady_us + UNKNOWN_GATE_PATIENCE_US,
	};
	pthread_mutex_lock(&gate->lock);
	bool is_held = !gate->closed && !take_token(gate, steady_us) && gate->count < gate->config.waiting_max;
	if (is_held)
		append(gate, waiter);
	pthread_mutex_unlock(&gate->lock);
	metrics_add(gate->held, is_held);
	if (!is_held)
		free(waiter);
	return is_held;
}

/* With the lock held. */
static struct waiter *take_first(struct unknown_gate *gate)
{
	struct waiter *waiter = gate->first;
	gate->first = waiter->next;
	if (!gate->first)
		gate->last = NULL;
	gate->count--;
	waiter->next = NULL;
	return waiter;
}

/* With the lock held: whether the one who has waited longest need not wait any more. All wait equally long. */
static bool is_first_due(const struct unknown_gate *gate, int64_t as_of_us, int64_t now_us)
{
	return gate->first &&
	       (gate->closed || gate->first->wanted_as_of_us <= as_of_us || gate->first->until_us <= now_us);
}

/* At most max of those who are due, in order. */
static struct waiter *take_due(struct unknown_gate *gate, int64_t as_of_us, int64_t now_us, size_t max, bool *more)
{
	struct waiter *due = NULL;
	struct waiter **end = &due;
	pthread_mutex_lock(&gate->lock);
	for (size_t i = 0; i < max && is_first_due(gate, as_of_us, now_us); i++) {
		*end = take_first(gate);
		end = &(*end)->next;
	}
	*more = is_first_due(gate, as_of_us, now_us);
	pthread_mutex_unlock(&gate->lock);
	return due;
}

static enum err judge(struct unknown_gate *gate, const struct waiter *waiter, int64_t as_of_us)
{
	bool is_certain = waiter->wanted_as_of_us <= as_of_us && can_tell(gate);
	bool is_unknown = is_certain && !may_have(gate, waiter->slug);
	metrics_add(gate->denied, is_unknown);
	metrics_add(gate->impatient, !is_certain);
	return is_unknown ? ERR_NOT_FOUND : ERR_UNAVAILABLE;
}

bool unknown_gate_advance(struct unknown_gate *gate)
{
	bool more;
	int64_t as_of_us = feed_progress_as_of_us(gate->config.progress);
	int64_t now_us = clock_steady_us(gate->config.clock);
	struct waiter *waiter = take_due(gate, as_of_us, now_us, UNKNOWN_GATE_RUN_MAX, &more);
	while (waiter) {
		struct waiter *next = waiter->next;
		waiter->told(waiter->visitor, judge(gate, waiter, as_of_us));
		free(waiter);
		waiter = next;
	}
	return more;
}

void unknown_gate_close(struct unknown_gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->closed = true;
	pthread_mutex_unlock(&gate->lock);
	bool more;
	struct waiter *waiter = take_due(gate, 0, 0, SIZE_MAX, &more);
	while (waiter) {
		struct waiter *next = waiter->next;
		waiter->told(waiter->visitor, ERR_UNAVAILABLE);
		free(waiter);
		waiter = next;
	}
}
