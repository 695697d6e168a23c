#include "lib/base/fair_queue.h"

#include <stdlib.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"

struct waiting_job {
	struct fair_queue_job job;
	/* Of the same flow; next also links unused records. */
	struct waiting_job *previous, *next;
};

/* Exists while a job of the flow waits or runs, or while the flow has a turn. */
struct flow {
	uint64_t id;
	/* Without the job that has the first place. */
	size_t waiting, running;
	bool is_first_taken;
	struct waiting_job *first, *last;
	/* In the list of turns; it may have become empty there. */
	bool has_turn;
	struct flow *next_turn;
	UT_hash_handle hh;
};

struct fair_queue {
	size_t flow_running_max;
	size_t waiting;
	struct waiting_job *jobs, *unused;
	struct flow *first_turn, *last_turn;
	struct flow *flows;
	/* The jobs of all flows that have a first place. */
	struct flow firsts;
	bool was_first;
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
	struct flow *flow, *next;
	HASH_ITER(hh, queue->flows, flow, next) {
		HASH_DEL(queue->flows, flow);
		free(flow);
	}
	free(queue->jobs);
	free(queue);
}

/* --- flows --- */

static struct flow *flow_with(struct fair_queue *queue, uint64_t id)
{
	struct flow *flow;
	HASH_FIND(hh, queue->flows, &id, sizeof(id), flow);
	if (!flow) {
		flow = mem_zero(sizeof(*flow));
		flow->id = id;
		HASH_ADD(hh, queue->flows, id, sizeof(id), flow);
	}
	return flow;
}

static void drop_if_unused(struct fair_queue *queue, struct flow *flow)
{
	if (flow->waiting > 0 || flow->running > 0 || flow->is_first_taken || flow->has_turn)
		return;
	HASH_DEL(queue->flows, flow);
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
	struct flow *longest = queue->flows;
	for (struct flow *flow = longest; flow; flow = flow->hh.next)
		if (flow->waiting > longest->waiting)
			longest = flow;
	return longest;
}

/* --- jobs --- */

static void insert(struct fair_queue *queue, struct flow *flow, const struct fair_queue_job *job)
{
	struct waiting_job *waiting = queue->unused;
	queue->unused = waiting->next;
	*waiting = (struct waiting_job){ .job = *job, .previous = flow->last };
	*(flow->last ? &flow->last->next : &flow->first) = waiting;
	flow->last = waiting;
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

/* Makes room for a job. False: no flow waits with more jobs than allowed. */
static bool replace(struct fair_queue *queue, size_t allowed, struct fair_queue_job *replaced)
{
	struct flow *longest = longest_flow(queue);
	if (!longest || longest->waiting <= allowed)
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
                         size_t waiting_max, struct fair_queue_job *replaced)
{
	*replaced = (struct fair_queue_job){ 0 };
	struct flow *flow = flow_with(queue, job->flow);
	struct fair_queue_job placed = *job;
	placed.is_first = job->is_first && !flow->is_first_taken;
	bool is_full = !queue->unused || (!placed.is_first && queue->waiting >= waiting_max);
	if (is_full && !replace(queue, placed.is_first ? 0 : flow->waiting + 1, replaced)) {
		drop_if_unused(queue, flow);
		return ERR_LIMIT;
	}
	flow->is_first_taken = flow->is_first_taken || placed.is_first;
	insert(queue, placed.is_first ? &queue->firsts : flow, &placed);
	give_turn(queue, flow);
	return OK;
}

static bool pop_first(struct fair_queue *queue, struct fair_queue_job *out)
{
	if (queue->firsts.waiting == 0)
		return false;
	*out = take(queue, &queue->firsts, queue->firsts.first);
	return true;
}

static bool pop_turn(struct fair_queue *queue, struct fair_queue_job *out)
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

bool fair_queue_pop(struct fair_queue *queue, struct fair_queue_job *out)
{
	bool is_found = queue->was_first ? pop_turn(queue, out) || pop_first(queue, out)
	                                 : pop_first(queue, out) || pop_turn(queue, out);
	queue->was_first = is_found && out->is_first;
	return is_found;
}

void fair_queue_end(struct fair_queue *queue, const struct fair_queue_job *job)
{
	struct flow *flow = flow_with(queue, job->flow);
	if (job->is_first)
		flow->is_first_taken = false;
	else
		flow->running--;
	give_turn(queue, flow);
	drop_if_unused(queue, flow);
}
