#include "services/redirector/gate/visit_taker.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "lib/links/visit_limit.h"

/* Visitors; beyond: LINK_GATE_VISIT_UNKNOWN. */
#define WAITING_MAX 16384
#define KNOWN_MAX 1024

struct waiter {
	struct waiter *next;
	bool spends;
	struct http_exchange *x;
	link_gate_visit_callback on_done;
	void *ctx;
};

/* Exists while visitors of a link wait or are being answered. */
struct queue {
	struct visit_taker *taker;
	int64_t link_id;
	/* In the order of their arrival; last is valid unless first is NULL. */
	struct waiter *first, *last;
	UT_hash_handle hh;
};

/* What PostgreSQL said last. A link that shares the place of another one replaces it. */
struct known {
	int64_t link_id;
	/* Steady. */
	int64_t until_us;
	bool is_used_up;
};

struct visit_taker {
	struct pg_pool *postgres;
	const struct clock *clock;
	struct worker_pool *workers;
	/* Guards the rest. */
	pthread_mutex_t lock;
	struct queue *queues;
	size_t waiting;
	struct known known[KNOWN_MAX];
	struct metric *visits[LINK_GATE_VISITS];
};

struct visit_taker *visit_taker_new(struct pg_pool *postgres, const struct clock *clock,
                                    struct metrics *metrics)
{
	static const char *const labels[LINK_GATE_VISITS] = {
		[LINK_GATE_VISIT_TAKEN] = "result=\"taken\"",
		[LINK_GATE_VISIT_USED_UP] = "result=\"used_up\"",
		[LINK_GATE_VISIT_UNKNOWN] = "result=\"unknown\"",
	};
	struct visit_taker *taker = mem_zero(sizeof(*taker));
	taker->postgres = postgres;
	taker->clock = clock;
	/* Each queue has one job, and none is without a visitor. */
	taker->workers = worker_pool_new("take-visits", LINK_GATE_CONNECTIONS, WAITING_MAX);
	pthread_mutex_init(&taker->lock, NULL);
	for (int i = 0; i < LINK_GATE_VISITS; i++)
		taker->visits[i] = metrics_counter(
			metrics, "waymark_redirector_limited_visits_total",
			"Visits of links with a limit by what became of them, without bots.",
			labels[i]);
	return taker;
}

void visit_taker_free(struct visit_taker *taker)
{
	if (!taker)
		return;
	worker_pool_free(taker->workers);
	pthread_mutex_destroy(&taker->lock);
	free(taker);
}

static void answer(struct visit_taker *taker, const struct waiter *waiter,
                   enum link_gate_visit visit)
{
	if (waiter->spends)
		metrics_add(taker->visits[visit], 1);
	waiter->on_done(waiter->ctx, waiter->x, visit);
}

static struct known *place_of(struct visit_taker *taker, int64_t link_id)
{
	return &taker->known[(uint64_t)link_id % KNOWN_MAX];
}

/* With the lock held. False: PostgreSQL has to be asked. */
static bool is_known(struct visit_taker *taker, const struct waiter *waiter, int64_t link_id,
                     enum link_gate_visit *visit)
{
	const struct known *known = place_of(taker, link_id);
	if (known->link_id != link_id || clock_steady_us(taker->clock) >= known->until_us)
		return false;
	*visit = known->is_used_up ? LINK_GATE_VISIT_USED_UP : LINK_GATE_VISIT_TAKEN;
	return known->is_used_up || !waiter->spends;
}

static void take(void *arg);

/* With the lock held. False: too many wait. */
static bool add(struct visit_taker *taker, int64_t link_id, const struct waiter *waiter)
{
	struct queue *queue;
	if (taker->waiting == WAITING_MAX)
		return false;
	HASH_FIND(hh, taker->queues, &link_id, sizeof(link_id), queue);
	if (!queue) {
		queue = mem_zero(sizeof(*queue));
		queue->taker = taker;
		queue->link_id = link_id;
		if (worker_pool_submit(taker->workers, take, queue) != OK) {
			free(queue);
			return false;
		}
		HASH_ADD(hh, taker->queues, link_id, sizeof(queue->link_id), queue);
	}
	struct waiter *added = mem_zero(sizeof(*added));
	*added = *waiter;
	*(queue->first ? &queue->last->next : &queue->first) = added;
	queue->last = added;
	taker->waiting++;
	return true;
}

void visit_taker_take(struct visit_taker *taker, int64_t link_id, bool spends,
                      struct http_exchange *x, link_gate_visit_callback on_done, void *ctx)
{
	const struct waiter waiter = { .spends = spends, .x = x, .on_done = on_done, .ctx = ctx };
	enum link_gate_visit visit = LINK_GATE_VISIT_UNKNOWN;
	pthread_mutex_lock(&taker->lock);
	bool is_answered = is_known(taker, &waiter, link_id, &visit);
	if (!is_answered && !add(taker, link_id, &waiter)) {
		visit = LINK_GATE_VISIT_UNKNOWN;
		is_answered = true;
	}
	pthread_mutex_unlock(&taker->lock);
	if (is_answered)
		answer(taker, &waiter, visit);
}

/* --- in a worker --- */

/* A connection that broke while idle fails at its first use; the second attempt gets a new one. */
static enum err ask(struct visit_taker *taker, int64_t link_id, int64_t wanted, int64_t *granted,
                    bool *is_used_up)
{
	enum err err = ERR_UNAVAILABLE;
	bool should_try = true;
	for (int attempts = 0; attempts < 2 && should_try; attempts++) {
		struct pg_conn *conn = NULL;
		int64_t left = 0;
		if (pg_pool_acquire(taker->postgres, &conn) != OK)
			return ERR_UNAVAILABLE;
		if (wanted > 0)
			err = visit_limit_take(conn, link_id, wanted, granted);
		else
			err = visit_limit_left(conn, link_id, &left);
		should_try = err == ERR_UNAVAILABLE && !pg_conn_timed_out(conn);
		pg_pool_release(taker->postgres, conn);
		*is_used_up = wanted > 0 ? *granted < wanted : left == 0;
	}
	return err;
}

static void answer_all(struct visit_taker *taker, struct waiter *first, enum err err,
                       int64_t granted, bool is_used_up)
{
	while (first) {
		struct waiter *waiter = first;
		enum link_gate_visit visit = LINK_GATE_VISIT_UNKNOWN;
		first = waiter->next;
		if (err == OK && waiter->spends)
			visit = granted-- > 0 ? LINK_GATE_VISIT_TAKEN : LINK_GATE_VISIT_USED_UP;
		else if (err == OK)
			visit = is_used_up ? LINK_GATE_VISIT_USED_UP : LINK_GATE_VISIT_TAKEN;
		answer(taker, waiter, visit);
		free(waiter);
	}
}

/* Takes for all who wait by now. Who comes meanwhile waits for the next turn of the link. */
static void take(void *arg)
{
	struct queue *queue = arg;
	struct visit_taker *taker = queue->taker;
	int64_t link_id = queue->link_id, people = 0, granted = 0;
	size_t count = 0;
	bool is_used_up = false, is_over = true;

	pthread_mutex_lock(&taker->lock);
	struct waiter *first = queue->first;
	queue->first = queue->last = NULL;
	pthread_mutex_unlock(&taker->lock);
	for (const struct waiter *waiter = first; waiter; waiter = waiter->next, count++)
		people += waiter->spends;

	int64_t asked_us = clock_steady_us(taker->clock);
	enum err err = ask(taker, link_id, people, &granted, &is_used_up);

	pthread_mutex_lock(&taker->lock);
	if (err == OK)
		*place_of(taker, link_id) =
			(struct known){ link_id, asked_us + VISIT_TAKER_KNOWN_US, is_used_up };
	taker->waiting -= count;
	/* Other links take their turn first. */
	if (queue->first)
		is_over = worker_pool_submit(taker->workers, take, queue) != OK;
	struct waiter *rest = is_over ? queue->first : NULL;
	for (const struct waiter *waiter = rest; waiter; waiter = waiter->next)
		taker->waiting--;
	if (is_over) {
		HASH_DEL(taker->queues, queue);
		free(queue);
	}
	pthread_mutex_unlock(&taker->lock);

	answer_all(taker, first, err, granted, is_used_up);
	answer_all(taker, rest, ERR_LIMIT, 0, false);
}
