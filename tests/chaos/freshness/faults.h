/*
 * One thread at a time. When the rig did what, as it wrote it down: lines of text, times in microseconds of
 * CLOCK_MONOTONIC, ends after begins.
 *
 *   fault NAME BEGIN END        what is summed up together, by its name; in order, not overlapping
 *   kafka-away BEGIN END        a change may take 5 s to be seen, not 1 s
 *   stores-away BEGIN END       503 is allowed
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
};

/* false: it cannot be read or says something else, and stderr says so. */
bool faults_read(const char *path, struct faults *out);

/*
 * The fault during which a moment falls; what comes before the first belongs to the first, what comes between two to
 * the former.
 */
size_t faults_at(const struct faults *faults, int64_t at_us);

/* How long after its acknowledgement a change may go unseen by a read of [begin_us, end_us]. */
int64_t faults_bound_us(const struct faults *faults, int64_t begin_us, int64_t end_us);

/* Whether such a read may be answered by 503. */
bool faults_excuse_503(const struct faults *faults, int64_t begin_us, int64_t end_us);

#endif
