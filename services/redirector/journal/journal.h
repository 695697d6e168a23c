/*
 * A persistent queue of records: a chain of memory-mapped segment files in one directory. It holds
 * the events of one shard between the response and Kafka's ack. Appended records survive kill -9;
 * the next process that opens the directory ships them again.
 *
 *       journal_append(j, bytes, len);        // appender: before the response is queued
 *
 *       journal_next(j, &record);             // shipper: send it to Kafka
 *       journal_ack(j, record.ack_id);        // any thread, any time later, in any order
 *       journal_maintain(j);                  // shipper: every few milliseconds
 *
 * One appender and one shipper at a time, which may be two threads. journal_ack and journal_count
 * are safe from any thread.
 *
 * A segment whose records are all acked is reused, or deleted when a spare one is ready. Appends
 * are refused when bytes_max is used up and when the disk is full or cannot be written.
 * journal_maintain retries, so the journal heals without a restart.
 *
 * A power cut may cost the pages that the kernel had not written. journal_maintain writes all
 * records that are not acked, and the names of their files, every fsync_ms; with 0 the kernel
 * decides, about 30 s. A torn record fails its checksum and ends its segment.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"

struct journal;

/* Creates a directory, durably, if it is missing. ERR_UNAVAILABLE: cannot (logged). */
enum err journal_make_directory(const char *dir, const struct log *log) MUST_CHECK;

struct journal_config {
	/* Created if missing; locked (flock) while it is open. */
	const char *dir;
	/* At least 64 KiB. */
	size_t segment_bytes;
	/* Of all segments; at least two segments. */
	size_t bytes_max;
	/* Records read but not acked. */
	size_t in_flight_max;
	/* 0: never. */
	int64_t fsync_ms;
	/*
	 * Called by journal_maintain for each record of this process that is acked and leaves the
	 * journal. May be NULL.
	 */
	void (*on_released)(void *ctx, const void *bytes, size_t len);
	void *ctx;
	const struct clock *clock;
	const struct log *log;
};

/*
 * Opens the directory and recovers what an earlier process left. Never fails: a journal whose
 * directory cannot be used refuses appends (journal_accepts_appends is false) and keeps retrying.
 */
struct journal *journal_new(const struct journal_config *config);

/* Leaves unacked records on disk. Nobody may use the journal or ack any more. */
void journal_free(struct journal *j);

/* ERR_LIMIT: the journal is full or cannot be written; nothing was appended. */
enum err journal_append(struct journal *j, const void *bytes, size_t len) MUST_CHECK;

struct journal_record {
	/* Borrowed until the record is acked. */
	const void *bytes;
	size_t len;
	/* For journal_ack. */
	uint64_t ack_id;
};

/* The next record in order. False: none yet, or in_flight_max records wait for their acks. */
bool journal_next(struct journal *j, struct journal_record *record);

/* Kafka has the record of this ack_id. */
void journal_ack(struct journal *j, uint64_t ack_id);

/* Releases acked segments, prepares the next one, syncs. Call it every few milliseconds. */
void journal_maintain(struct journal *j);

/* Whether the next append will succeed, as far as is known. */
bool journal_accepts_appends(const struct journal *j);

/*
 * False: the directory cannot be used, or its disk is full or fails to sync. A journal that has
 * used up bytes_max is healthy.
 */
bool journal_is_healthy(const struct journal *j);

struct journal_counts {
	/* By this process, plus those recovered at the start. */
	uint64_t appended;
	uint64_t acked;
	/* Of segment files. */
	uint64_t bytes;
	/* Bytes of records that are not released; a part of bytes. */
	uint64_t held;
};

/* acked is read first, so appended - acked is never negative. */
struct journal_counts journal_count(const struct journal *j);

#endif
