/*
 * One thread at a time. Which partitions are ours, how far each has been stored, and how far the batch in hand reaches.
 *
 * stored is what this process last stored, or read when it got the partition: never the offset of the batch's first
 * record, because offsets have gaps. Two owners of one partition thus agree on at most one next step, and the fence
 * (offset_store.h) lets only one of them make it.
 *
 * A partition from which nothing was ever counted is stored as 0, and starts at the oldest record there is.
 *
 * An offset alone does not say that the topic is the one that was counted: one that was made anew has other records at
 * the same offsets. So the store knows the record before stored by its print (kafka_message.h), and a partition is
 * not read on before that record has been seen where it stood.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PROGRESS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROGRESS_PARTITIONS_MAX 4096

/* Why a partition stands still until an operator has decided. */
enum progress_strand {
	PROGRESS_NOT_STRANDED,
	PROGRESS_STRANDED_BEFORE, /* the store has said so already, and why */
	PROGRESS_ENDS_BEFORE,     /* the topic ends before stored: made anew, or its end was lost */
	PROGRESS_REMOVED,         /* the topic begins behind stored: retention was faster */
	PROGRESS_OTHER_RECORD,    /* not the record that was counted stands before stored: the topic was made anew */
};

struct progress_partition {
	int32_t partition;
	int64_t stored;      /* the next offset to count */
	int64_t record;      /* the print of the record before stored; 0 = not known */
	int64_t published;   /* the visits of all records before it were handed to Kafka */
	int64_t first;       /* the first offset of the batch; -1 = it has none */
	int64_t next;        /* what stored becomes when the batch is stored */
	int64_t next_record; /* what record becomes with it */
	int64_t reached;  /* what published becomes when the batch's visits are handed to Kafka; may be below stored */
	int64_t as_of_us; /* the newest click of the batch; 0 = none */
	bool caught_up;   /* nothing of it waited when it was last looked at, neither in Kafka nor in the batch */
	bool is_unproven; /* the record before stored has not been seen since the partition is ours */
	bool is_missing;  /* Kafka has not what was to be read next: it has to be found out what there is */
	bool strand_is_told; /* to the store */
	enum progress_strand strand;
};

struct progress {
	size_t count;
	struct progress_partition *partitions; /* in rising order of partition */
};

/* Takes over count partitions, of which partition, stored, record, published and strand are set, in any order. */
void progress_assign(struct progress *progress, const struct progress_partition *partitions, size_t count);
/* Gives all up. Also frees: an empty progress is { 0 }. */
void progress_clear(struct progress *progress);

/* NULL when it is not ours. */
struct progress_partition *progress_find(struct progress *progress, int32_t partition);

/* The batch reaches over the record at offset now; record: its print, or 0. */
void progress_reach(struct progress_partition *partition, int64_t offset, int64_t record);
/* True for a record that has been counted: it is read again to be published again. */
bool progress_is_counted(const struct progress_partition *partition, int64_t offset);
/* True when storing the batch moves stored. */
bool progress_moves(const struct progress_partition *partition);
bool progress_moves_any(const struct progress *progress);

/* The batch was stored: stored becomes next. */
void progress_keep(struct progress *progress);
/* Its visits were handed to Kafka: published becomes what it reached. */
void progress_publish(struct progress *progress);
/* True when nothing that was stored remains to be handed over. */
bool progress_is_published(const struct progress_partition *partition);
/*
 * The batch goes to somebody who stores it: batch becomes what progress is, and progress goes on with the next one, as if
 * this one had been stored and handed to Kafka. What batch was before is freed.
 */
void progress_hand_over(struct progress *progress, struct progress *batch);
/* The batch is over, or was thrown away: the next one begins. */
void progress_forget(struct progress *progress);

size_t progress_stranded_count(const struct progress *progress);

/* The word for it in the log and in the store. */
const char *progress_strand_name(enum progress_strand strand);

#endif
