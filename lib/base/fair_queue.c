#include "lib/base/fair_queue.h"

#include <stdlib.h>

#include "lib/base/mem.h"

#define BUCKETS 1024

struct waiting_job {
	struct fair_queue_job job;
	struct waiting_job *previous, *next; /* of the same flow; next also links unused records */
};

/* Exists while a job of the flow waits or runs, or while the flow has a turn. */
struct flow {
	uint64_t id;
	size_t waiting, running;
	struct waiting_job *first, *last;
	bool has_turn; /* in the list of turns; it may have become empty there */
	struct flow *next_turn;
	struct flow *next_in_bucket;
};

struct fair_queue {
	size_t flow_running_max;
	size_t waiting;
	struct waiting_job *jobs, *unused;
	struct flow *first_turn, *last_turn;
	struct flow *buckets[BUCKETS];
};

struct fair_queue *fair_queue_new(size_t waiting_max, size_t flow_running_max)
{
	struct fair_queue *queue = mem_zero(sizeof(*queue));
	queue->flow_running_max = flow_running_max;
	queue->jobs = mem_array(waiting_max, sizeof(*queue->jobs));
	for (size_t i = 0; i < waiting_max; i++) {
		queue->jobs[i].next = queue->unused;
		queue->unused = &queue->jobs[i];
	}
	return queue;
}

void fair_queue_free(struct fair_queue *queue)
{
	if (!queue)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (queue->buckets[i]) {
			struct flow *flow = queue->buckets[i];
			queue->buckets[i] = flow->next_in_bucket;
			free(flow);
		}
	}
	free(queue->jobs);
	free(queue);
}

size_t fair_queue_waiting(const struct fair_queue *queue)
{
	return queue->waiting;
}

/* --- flows --- */

/* The place that points to the flow, or to NULL at the end of its bucket. */
static struct flow **place_of(struct fair_queue *queue, uint64_t id)
{
	/* The multiplier spreads ids that differ in few bits (Fibonacci hashing). */
	size_t bucket = (size_t)((id * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % BUCKETS;
	struct flow **place = &queue->buckets[bucket];
	while (*place && (*place)->id != id)
		place = &(*place)->next_in_bucket;
	return place;
}

static struct flow *flow_with(struct fair_queue *queue, uint64_t id)
{
	struct flow **place = place_of(queue, id);
	if (!*place) {
		*place = mem_zero(sizeof(**place));
		(*place)->id = id;
	}
	return *place;
}

static void drop_if_unused(struct fair_queue *queue, struct flow *flow)
{
	if (flow->waiting > 0 || flow->running > 0 || flow->has_turn)
		return;
	struct flow **place = place_of(queue, flow->id);
	*place = flow->next_in_bucket;
	free(flow);
}

static void give_turn(struct fair_queue *queue, struct flow *flow)
{
	bool may_run = flow->id == 0 || flow->running < queue->flow_running_max;
	if (flow->has_turn || flow->waiting == 0 || !may_run)
		return;
	flow->has_turn = true;
	flow->next_turn = NULL;
	*(queue->first_turn ? &queue->last_turn->next_turn : &queue->first_turn) = flow;
	queue->last_turn = flow;
}

static struct flow *longest_flow(const struct fair_queue *queue)
{
	struct flow *longest = NULL;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct flow *flow = queue->buckets[i]; flow; flow = flow->next_in_bucket)
			if (!longest || flow->waiting > longest->waiting)
				longest = flow;
	return longest;
}

/* --- jobs --- */

/* The job that the new one goes before, or NULL. */
static struct waiting_job *follower_of(const struct flow *flow, const struct fair_queue_job *job)
{
	struct waiting_job *follower = job->is_first ? flow->first : NULL;
	while (follower && follower->job.is_first)
		follower = follower->next;
	return follower;
}

static void insert(struct fair_queue *queue, struct flow *flow, const struct fair_queue_job *job)
{
	struct waiting_job *waiting = queue->unused;
	struct waiting_job *next = follower_of(flow, job);
	struct waiting_job *previous = next ? next->previous : flow->last;
	queue->unused = waiting->next;
	*waiting = (struct waiting_job){ .job = *job, .previous = previous, .next = next };
	*(previous ? &previous->next : &flow->first) = waiting;
	*(next ? &next->previous : &flow->last) = waiting;
	flow->waiting++;
	queue->waiting++;
}

static struct fair_queue_job take(struct fair_queue *queue, struct flow *flow,
                                  struct waiting_job *waiting)
{
	*(waiting->previous ? &waiting->previous->next : &flow->first) = waiting->next;
	*(waiting->next ? &waiting->next->previous : &flow->last) = waiting->previous;
	waiting->next = queue->unused;
	queue->unused = waiting;
	flow->waiting--;
	queue->waiting--;
	return waiting->job;
}

/* Makes room for a job of flow. False: no other flow waits with more jobs than it would. */
static bool replace(struct fair_queue *queue, const struct flow *flow,
                    struct fair_queue_job *replaced)
{
	struct flow *longest = longest_flow(queue);
	if (!longest || longest->waiting <= flow->waiting + 1)
		return false;
	struct waiting_job *newest = longest->last;
	while (newest && !newest->job.reject)
		newest = newest->previous;
	if (!newest)
		return false;
	*replaced = take(queue, longest, newest);
	return true;
}

enum err fair_queue_push(struct fair_queue *queue, const struct fair_queue_job *job,
                         struct fair_queue_job *replaced)
{
	*replaced = (struct fair_queue_job){ 0 };
	struct flow *flow = flow_with(queue, job->flow);
	if (!queue->unused && !replace(queue, flow, replaced)) {
		drop_if_unused(queue, flow);
		return ERR_LIMIT;
	}
	insert(queue, flow, job);
	give_turn(queue, flow);
	return OK;
}

bool fair_queue_pop(struct fair_queue *queue, struct fair_queue_job *out)
{
	while (queue->first_turn) {
		struct flow *flow = queue->first_turn;
		queue->first_turn = flow->next_turn;
		flow->has_turn = false;
		if (flow->waiting == 0) {
			drop_if_unused(queue, flow);
			continue;
		}
		*out = take(queue, flow, flow->first);
		flow->running++;
		give_turn(queue, flow);
		return true;
	}
	return false;
}

void fair_queue_end(struct fair_queue *queue, uint64_t id)
{
	struct flow *flow = flow_with(queue, id);
	flow->running--;
	give_turn(queue, flow);
	drop_if_unused(queue, flow);
}
