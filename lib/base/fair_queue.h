/*
 * One thread at a time. Jobs that wait for a thread, one queue for each flow. A flow is what the
 * jobs are for: an account, a network. Flows take turns, and at most flow_running_max jobs of one
 * flow run at the same time. A flow that sends much therefore delays itself and no other.
 *
 * When the queue is full, a new job of a short flow replaces the newest job of the longest one.
 *
 * A flow has one first place, for a job that goes before those of all flows: it takes every second
 * turn, and replaces a job of any flow when the queue is full.
 *
 * Flow 0 stands for jobs that are for nobody in particular: it takes turns, but has no limit.
 */
#ifndef WAYMARK_LIB_BASE_FAIR_QUEUE_H
#define WAYMARK_LIB_BASE_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct fair_queue;

struct fair_queue_job {
	uint64_t flow;
	/* It takes the first place of its flow, if no other job has that, waiting or running. */
	bool is_first;
	void (*run)(void *arg);
	/* Runs instead of run if the job is replaced; NULL: it never is. */
	void (*reject)(void *arg);
	void *arg;
};

struct fair_queue *fair_queue_new(size_t waiting_max, size_t flow_running_max);
/* Nothing may be waiting or running. NULL is allowed. */
void fair_queue_free(struct fair_queue *queue);

/*
 * To a job without the first place, the queue is full when waiting_max jobs wait. ERR_LIMIT: it is
 * full, and no other flow waits with more jobs. OK: the job waits; replaced->arg is NULL, or
 * *replaced is the job that lost its place, which the caller rejects.
 */
enum err fair_queue_push(struct fair_queue *queue, const struct fair_queue_job *job,
                         size_t waiting_max, struct fair_queue_job *replaced) MUST_CHECK;

/* The next job to run. False: no job waits whose flow may run another one. */
bool fair_queue_pop(struct fair_queue *queue, struct fair_queue_job *out);

/* Call it when a job has ended, with what fair_queue_pop returned. */
void fair_queue_end(struct fair_queue *queue, const struct fair_queue_job *job);

#endif
