/*
 * One thread at a time. One run of a task under its lock: work is done in batches, each a transaction of its own that
 * begins by checking the fence, so that a janitor whose lock has passed to another (it was frozen, or cut off) changes
 * nothing any more.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RUN_H
#define WAYMARK_SERVICES_JANITOR_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/shutdown.h"
#include "lib/net/fenced_lock.h"
#include "services/janitor/config.h"

/* Rows that one batch changes at most. */
#define RUN_BATCH_ROWS 1000
/* A lock that lasts shorter could run out before a batch gets to extending it. */
#define RUN_AT_MOST_MS_MIN 1000

struct run {
	const struct config *config;
	const struct clock *clock;
	struct shutdown *shutdown;
	const struct log *log;
	struct pg_conn *conn;
	struct fenced_lock *lock;
	int64_t at_least_ms;  /* the lock stays for so long after a whole run has begun, however short it was */
	int64_t at_most_ms;   /* the lock lasts for so long, should we die; extended at half of it */
	int64_t extend_at_us; /* steady; set by run_start */
	bool interrupted;     /* set by run_batches */
	void *own;            /* the task's, in its batches: run_batch_with */
};

/*
 * Takes the lock for at_most_ms. ERR_CONFLICT: another janitor has it. ERR_INVALID: at_most_ms is less than
 * RUN_AT_MOST_MS_MIN, or at_least_ms negative or more than it.
 */
enum err run_start(struct run *run) MUST_CHECK;

/* Lets the lock go; after a run that is not whole at once, so that another can do the rest. */
void run_end(struct run *run, bool is_whole);

/* What one batch does, inside its transaction; *changed counts rows. */
typedef enum err (*run_work)(const struct run *run, int64_t *changed);

/*
 * One batch; adds its rows to *changed after the commit. Extends the lock when half of its time is over. ERR_CONFLICT:
 * the lock was lost; nothing of the batch is left.
 */
enum err run_batch(struct run *run, run_work work, int64_t *changed) MUST_CHECK;

/* The same with run->own for that batch. */
enum err run_batch_with(struct run *run, run_work work, void *own, int64_t *changed) MUST_CHECK;

/* Batches until one is not full (RUN_BATCH_ROWS), or the program shall end: then run->interrupted. */
enum err run_batches(struct run *run, run_work work, int64_t *changed) MUST_CHECK;

/* As run_batches, but until one changes nothing. */
enum err run_while_changing(struct run *run, run_work work, int64_t *changed) MUST_CHECK;

#endif
