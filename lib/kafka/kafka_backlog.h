/*
 * Pure. Estimates how many events the waiting records of a partition hold, from a few of them. The
 * owner reads runs of records where the estimate is worst:
 *
 *   kafka_backlog_set(&backlog, first, end);
 *   while (kafka_backlog_next(&backlog, &gap))
 *           kafka_backlog_add(&backlog, the run that was read at gap.first, before gap.end);
 *   events = kafka_backlog_events(&backlog);
 *
 * A run is exact. The records between two runs have the mean of both, also when the first of the two
 * is no longer part of the backlog; others have the mean of their neighbour. kafka_backlog_next ends
 * when no gap is longer than a sixteenth of the backlog, and each is wrong by at most 1 % of the sum
 * if the density in it is between those of its runs. So a short backlog is exact. Records of very
 * different density in turn are worse: of 20,000 records, one in six at random with 1,000 events and
 * the others with one, 20 of them in each run, the error is 9 % (root mean square), and 32 % in the
 * worst of 200 simulations.
 *
 * Beyond KAFKA_BACKLOG_RUNS_MAX runs the smallest neighbours become one, with the gap between them.
 * That keeps the sum. A run is cut in proportion when its head is counted, so the estimate is then
 * wrong by at most a part of one run, until later runs are reached.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_BACKLOG_H
#define WAYMARK_LIB_KAFKA_KAFKA_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KAFKA_BACKLOG_RUNS_MAX 64

/* Records from offset first up to, but not including, end, and their events. */
struct kafka_backlog_run {
	int64_t first;
	int64_t end;
	double events;
};

/* { 0 } is an empty backlog. */
struct kafka_backlog {
	int64_t first;
	int64_t end;
	/* Events per record of the last run before first; 0: not known. */
	double before;
	size_t count;
	/* In order, without overlaps; the last place is for kafka_backlog_add. */
	struct kafka_backlog_run runs[KAFKA_BACKLOG_RUNS_MAX + 1];
};

/*
 * The records from offset first up to, but not including, end wait now. Forgets what is outside; and
 * everything if the end went back, because the topic was created again.
 */
void kafka_backlog_set(struct kafka_backlog *backlog, int64_t first, int64_t end);

/* Where to read next, with at least one record. False: the estimate is good enough. */
bool kafka_backlog_next(const struct kafka_backlog *backlog, struct kafka_backlog_run *gap);

/* run: with at least one record, inside the gap that kafka_backlog_next returned. */
void kafka_backlog_add(struct kafka_backlog *backlog, struct kafka_backlog_run run);

/* Of a backlog without a run, an event for each record. */
double kafka_backlog_events(const struct kafka_backlog *backlog);

#endif
