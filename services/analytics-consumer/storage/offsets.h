/*
 * One thread at a time. The partitions assigned to a consumer: how far each one has been stored,
 * and how far the batch being gathered extends it.
 *
 * A record holds many events, and a transaction may end between two of them. So a place in a
 * partition is a position: the offset of a record and the index of an event in it, as one number
 * that rises. The store keeps both in columns of their own.
 *
 * `stored` is the position that this process last stored, or read when it got the partition. It is
 * never that of the batch's first event, because offsets have gaps. If two consumers both believe
 * that they own a partition, the fence accepts the batch of only one of them.
 *
 * A partition that has never been counted has `stored` 0 and starts at the oldest record of the
 * topic.
 *
 * An offset does not prove that the topic is still the same: a recreated topic has other records at
 * the same offsets. The store therefore keeps a fingerprint (kafka_message.h) of the record with the
 * last event before `stored`. A consumer reads on only after it has seen that record again.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_OFFSETS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_OFFSETS_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/kafka/kafka_message.h"
#include "lib/postgres/pg_conn.h"

#define OFFSETS_PARTITIONS_MAX 4096

/* An index is smaller, so index OFFSETS_INDEXES is the start of the next record. */
#define OFFSETS_INDEXES INT64_C(1024)
static_assert(REDIRECT_BATCH_EVENTS_MAX <= OFFSETS_INDEXES, "each event has a position");

static inline int64_t offsets_position(int64_t offset, int64_t index)
{
	return offset * OFFSETS_INDEXES + index;
}

/* The offset of the record to read next, and that of the record with the event before position. */
static inline int64_t offsets_next_record(int64_t position)
{
	return position / OFFSETS_INDEXES;
}
static inline int64_t offsets_last_record(int64_t position)
{
	return (position - 1) / OFFSETS_INDEXES;
}
static inline int64_t offsets_index(int64_t position)
{
	return position % OFFSETS_INDEXES;
}

/* Why a partition is halted: it is not read until an operator has decided what to do. */
enum offsets_halt_reason {
	OFFSETS_NOT_HALTED,
	OFFSETS_HALTED_EARLIER,    /* the store already has the halt and its reason */
	OFFSETS_TOPIC_ENDS_BEFORE, /* the topic ends before `stored`: recreated, or its end was lost
	                            */
	OFFSETS_REMOVED_BY_RETENTION, /* the topic begins after `stored`: retention removed records
	                                 not yet counted */
	OFFSETS_ANOTHER_RECORD, /* the record before `stored` is not the one counted: the topic was
	                           recreated */
};

struct offsets_partition {
	int32_t partition;
	/* The next position to count. */
	int64_t stored;
	/* Of offsets_last_record(stored); 0 = unknown. */
	int64_t fingerprint;
	/* The visits of all events before it were handed to Kafka. */
	int64_t published;
	/* The batch's first position; -1 = the batch has none. */
	int64_t first;
	/* What stored becomes when the batch is stored. */
	int64_t next_stored;
	/* What fingerprint becomes then; set when the batch ends. */
	int64_t next_fingerprint;
	/* What published becomes then; may lag behind stored. */
	int64_t next_published;
	/* Positions before the batch whose visits Kafka has not acknowledged yet. */
	int64_t unacked;
	/* The batch's newest click; 0 = none. */
	int64_t as_of_us;
	/* At the last look nothing was waiting, neither in Kafka nor in the batch. */
	bool caught_up;
	/* as_of is in the store, or the partition was marked since its assignment. */
	bool is_dated;
	/* The record of the fingerprint has not been seen since the partition was assigned. */
	bool is_unverified;
	/* Kafka lacks the offset to read next; assignment_check_ranges decides. */
	bool is_out_of_range;
	/* In the store. */
	bool is_halt_recorded;
	enum offsets_halt_reason halt_reason;
	/* The batch has an event that moves next_stored. */
	bool has_last;
	/* The record of the last such event. */
	struct kafka_message_head last;
};

struct offsets {
	size_t count;
	/* In ascending order of partition. */
	struct offsets_partition *partitions;
	/* Kafka returns long runs of records of one partition. */
	size_t last_found;
};

/*
 * Replaces all partitions by count others, in any order. Reads partition, stored, fingerprint,
 * published, is_dated and halt_reason of each.
 */
void offsets_assign(struct offsets *offsets, const struct offsets_partition *partitions,
                    size_t count);
/* Removes all partitions and frees them. An empty struct offsets is { 0 }. */
void offsets_clear(struct offsets *offsets);

/* NULL when the partition is not assigned. */
struct offsets_partition *offsets_find(struct offsets *offsets, int32_t partition);

/*
 * Extends the batch over the events of message with indexes from `from` up to, but not including,
 * `to`; OFFSETS_INDEXES: up to its end. Its fingerprint is stored if it is the last one.
 */
void offsets_extend(struct offsets_partition *partition, const struct kafka_message *message,
                    int64_t from, int64_t to);
/* The same for a record that is not to be verified later: its fingerprint counts as unknown. */
void offsets_extend_unverified(struct offsets_partition *partition, int64_t offset, int64_t from,
                               int64_t to);
/*
 * Where a batch with events of the partition starts to publish. Before the first event of a
 * partition's first batch there was nothing to publish.
 */
int64_t offsets_start_of_unpublished(const struct offsets_partition *partition);
/* The visits of all events before it are acknowledged: what the store keeps as published. */
int64_t offsets_acknowledged(const struct offsets_partition *partition);
/* True for an event that has been counted. It is read again only to be published again. */
bool offsets_is_counted(const struct offsets_partition *partition, int64_t position);
/* True for an event that has been counted and published. */
bool offsets_is_done(const struct offsets_partition *partition, int64_t position);
/* True when storing the batch changes stored. */
bool offsets_has_advanced(const struct offsets_partition *partition);
bool offsets_any_advanced(const struct offsets *offsets);

/* The batch was stored: stored and fingerprint take their next values. */
void offsets_mark_stored(struct offsets *offsets);
/* The batch's visits were handed to Kafka: published takes its next value. */
void offsets_mark_published(struct offsets *offsets);
/* True when every stored visit has been handed to Kafka. */
bool offsets_is_published(const struct offsets_partition *partition);
/*
 * Hands the batch to a writer: batch becomes a copy of offsets. offsets continues with the next
 * batch as if this one had been stored and published. Frees what batch held before.
 */
void offsets_hand_over(struct offsets *offsets, struct offsets *batch);
/* Frees what out held before. */
void offsets_copy(const struct offsets *offsets, struct offsets *out);
/*
 * Kafka has not acknowledged the visits of the batch unacked yet, which was handed over right
 * before batch. Those of the batches before it are acknowledged.
 */
void offsets_set_unacked(struct offsets *batch, const struct offsets *unacked);
/* Begins the next batch. A batch that was not marked as stored is discarded. */
void offsets_begin_batch(struct offsets *offsets);

size_t offsets_halted_count(const struct offsets *offsets);

/* The name of a halt reason in the log and in the store. */
const char *offsets_halt_reason_name(enum offsets_halt_reason reason);

/*
 * --- the store: the table consumer_offsets, one thread at a time per connection ---
 *
 * This is the fence that decides who may count. Inside the transaction of a batch, the row of each
 * partition advances from where the batch expects it to where the batch ends. If a row is elsewhere,
 * another owner has taken the partition over.
 */

/*
 * Fills partition, stored, fingerprint, published, is_dated and halt_reason of each element of out,
 * in the order of partitions. Creates missing rows: from then on the store knows that the clicks of
 * the partition are to be counted.
 */
enum err offsets_read(struct pg_conn *conn, const char *topic, const int32_t *partitions,
                      size_t count, struct offsets_partition *out) MUST_CHECK;

/*
 * The fence. Advances every partition of the batch from stored to next_stored, in the order of
 * partition. Visits handed to Kafka must have been acknowledged: the row marks them as published.
 * ERR_CONFLICT: at least one partition is elsewhere or halted. Roll the transaction back and
 * discard the batch.
 */
enum err offsets_advance(struct pg_conn *conn, const char *topic,
                         const struct offsets *offsets) MUST_CHECK;

/*
 * Halts the partition for every owner until consumer_offsets_resume is called. Does nothing if
 * another owner has advanced it.
 */
enum err offsets_halt(struct pg_conn *conn, const char *topic,
                      const struct offsets_partition *partition) MUST_CHECK;

enum offsets_outcome {
	OFFSETS_NOT_STORED, /* every partition is where the batch starts */
	OFFSETS_STORED,     /* every partition is where the batch ends */
	OFFSETS_FENCED,     /* another owner has advanced a partition */
};

/* Finds out whether a batch was stored when its COMMIT had no answer. */
enum err offsets_find_outcome(struct pg_conn *conn, const char *topic,
                              const struct offsets *offsets, enum offsets_outcome *out) MUST_CHECK;

/*
 * Marks partitions as published whose visits were all handed to Kafka and acknowledged. Skips
 * partitions that another owner has advanced. as_of_us: in the partitions that are caught up, every
 * click that Kafka had up to then is counted; 0 = unknown.
 */
enum err offsets_store_published(struct pg_conn *conn, const char *topic,
                                 const struct offsets *offsets, int64_t as_of_us) MUST_CHECK;

#endif
