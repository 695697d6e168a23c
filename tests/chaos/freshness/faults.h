/*
 * The faults of a history: what the harness did to the stack, and when. check_freshness reads them
 * from a text file and derives from them how late an answer may be. One thread at a time.
 *
 * Each line has one of these forms. Times are microseconds of CLOCK_MONOTONIC, and no span ends
 * before it begins.
 *
 *   fault NAME BEGIN END        figures are added up by NAME; in order, not overlapping
 *   kafka-away BEGIN END        a change may take 5 s to be seen, not 1 s
 *   stores-away BEGIN END       503 is allowed
 *   settled BEGIN END           nothing changes any more: every answer shows the newest version
 *   bound-factor N              a change may take N times as long, on a busy machine
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_FAULTS_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAULTS_MAX 1024
#define FAULTS_NAME_SIZE 48
#define FAULTS_BOUND_US INT64_C(1000000)
#define FAULTS_BOUND_WITHOUT_KAFKA_US INT64_C(5000000)

struct faults_span {
	char name[FAULTS_NAME_SIZE];
	int64_t begin_us;
	int64_t end_us;
};

struct faults {
	struct faults_span faults[FAULTS_MAX];
	size_t fault_count;
	struct faults_span kafka_away[FAULTS_MAX];
	size_t kafka_away_count;
	struct faults_span stores_away[FAULTS_MAX];
	size_t stores_away_count;
	struct faults_span settled[FAULTS_MAX];
	size_t settled_count;
	/* At least 1. */
	int64_t bound_factor;
};

/*
 * Returns false, with the reason on stderr, if the file cannot be read or a line has another form.
 */
bool faults_read(const char *path, struct faults *out);

/*
 * Returns the place of the fault to which a moment belongs. A moment before the first fault belongs
 * to the first, and one between two faults to the earlier.
 */
size_t faults_at(const struct faults *faults, int64_t at_us);

/*
 * Returns how long after its acknowledgement a change may go unseen by a read of [begin_us,
 * end_us].
 */
int64_t faults_bound_us(const struct faults *faults, int64_t begin_us, int64_t end_us);

/* Returns whether a read of [begin_us, end_us] may be answered by 503. */
bool faults_excuse_503(const struct faults *faults, int64_t begin_us, int64_t end_us);

#endif
