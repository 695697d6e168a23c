/*
 * One thread at a time. Packs events of the journal into batches (redirect_batch.h), one for each
 * partition and shard: a slug has one partition and one shard, so its events keep their order.
 *
 * A batch is sent when it has EVENT_PACKER_BYTES or REDIRECT_BATCH_EVENTS_MAX events, or
 * EVENT_PACKER_LINGER_MS after the one before it. So a busy redirector sends few records, an idle
 * one sends each event at once, and no event waits longer than EVENT_PACKER_LINGER_MS.
 *
 * If the brokers refuse a batch as too large, event_packer_split sends its halves, possibly after
 * batches that were packed later. Batches stay that small for a minute; then larger ones are tried
 * again.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_EVENTS_EVENT_PACKER_H
#define WAYMARK_SERVICES_REDIRECTOR_EVENTS_EVENT_PACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/entropy.h"
#include "services/redirector/journal/journal_shard.h"

/* With 20 ms, a click of twelve partitions costs the broker nearly twice as much. */
#define EVENT_PACKER_LINGER_MS 50
#define EVENT_PACKER_BYTES ((size_t)48 * 1024)

struct event_packer;

/* A batch to be sent. Release it with event_packer_free_batch. */
struct event_batch {
	/* For the owner's list. */
	struct event_batch *prev, *next;
	/* Of its first event. */
	uint8_t id[ENTROPY_UUID_SIZE];
	int32_t partition;
	/* A waymark.v1.RedirectBatch. */
	void *value;
	size_t len;
	/* Of its events, for journal_ack. */
	size_t shard;
	size_t count;
	uint64_t ack_ids[];
};

void event_packer_free_batch(struct event_batch *batch);

/* Takes over batch. */
typedef void (*event_packer_send)(void *ctx, struct event_batch *batch);

struct event_packer *event_packer_new(size_t shards, event_packer_send send, void *ctx);
/* Drops what is packed and not sent. */
void event_packer_free(struct event_packer *packer);

/* Sends everything and packs for count partitions from now on. */
void event_packer_set_partitions(struct event_packer *packer, int32_t count);

/* Packs an event, after event_packer_set_partitions. now_us: steady. */
void event_packer_add(struct event_packer *packer, size_t shard,
                      const struct journal_shard_record *event, int64_t now_us);
/* Sends the batches that are due; all: those that could wait as well. */
void event_packer_send_due(struct event_packer *packer, int64_t now_us, bool all);

/* Sends a batch of at least two events as two, and takes it over. */
void event_packer_split(struct event_packer *packer, struct event_batch *batch, int64_t now_us);

#endif
