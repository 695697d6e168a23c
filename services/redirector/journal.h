/*
 * One appender and one shipper at a time, which may be two threads; journal_ack and journal_count are safe from any
 * thread. The events of one lane of answered redirects between the answer and Kafka's ack: a chain of segment files in
 * one folder. What was appended survives kill -9 and is shipped again by the next process that opens the folder.
 *
 *   appender:  journal_append                      before the answer is queued
 *   shipper:   journal_next … (any time later) journal_ack, and journal_maintain in between
 *
 * A segment whose records are all acked is used again, or deleted when enough of them are ready. When bytes_max is used
 * up, or the disk is full or cannot be written, appends are refused; the shipper's journal_maintain tries again, so the
 * journal heals without a restart.
 *
 * What power loss may cost: the pages that the kernel had not written (journal_maintain writes them every fsync_ms; 0 =
 * the kernel decides, about 30 s). A torn record is recognised by its checksum and ends its segment.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"

struct journal;

struct journal_config {
	const char *dir;      /* made if it is not there; locked (flock) while it is open */
	size_t segment_bytes; /* at least 64 KiB */
	size_t bytes_max;     /* of all segments; at least two */
	size_t in_flight_max; /* records read but not acked */
	int64_t fsync_ms;     /* 0 = never */
	const struct clock *clock;
	const struct log *log;
};

/*
 * Opens the folder and finds what an earlier process left. Never fails: a journal whose folder cannot be used refuses
 * appends (journal_is_writable is false) and goes on trying.
 */
struct journal *journal_new(const struct journal_config *config);

/* Leaves on disk what is not acked. Nobody may use or ack any more. */
void journal_free(struct journal *j);

/* ERR_LIMIT: full, or not writable: nothing was appended. */
enum err journal_append(struct journal *j, const void *bytes, size_t len) MUST_CHECK;

struct journal_record {
	const void *bytes; /* borrowed until it is acked */
	size_t len;
	uint64_t ticket; /* for journal_ack */
};

/* The next record in order. false: none yet, or in_flight_max records wait for their acks. */
bool journal_next(struct journal *j, struct journal_record *record);

/* Kafka has the record of this ticket. In any order. */
void journal_ack(struct journal *j, uint64_t ticket);

/* Takes acked segments back, keeps one segment ready for the appender, syncs. Every few milliseconds. */
void journal_maintain(struct journal *j);

/* Whether the next append would succeed, as far as is known. */
bool journal_is_writable(const struct journal *j);

/*
 * false: the folder cannot be used or its disk is full. A journal that has used up bytes_max can be written all the
 * same.
 */
bool journal_can_write(const struct journal *j);

struct journal_counts {
	uint64_t appended; /* by this process, and those found at the start */
	uint64_t acked;
	uint64_t bytes; /* of segment files */
};

/* acked is read first: appended - acked is never negative. */
struct journal_counts journal_count(const struct journal *j);

#endif
