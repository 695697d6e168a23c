/*
 * One shard of the event journal: a journal, plus the instance and sequence number of the events
 * that this process appends to it. Appends are safe from any thread; everything else belongs to the
 * shipper.
 *
 * Several shards keep the threads that serve redirects from waiting for one another. All events of
 * a slug go to one shard, which preserves their order.
 *
 * An instance identifies one run of one shard. A process that finds records of an earlier run ships
 * them first, under the instance that they carry, and numbers its own events from 1. So the
 * sequence rises within each instance, whatever is killed, and a journal that lost its tail in a
 * power cut never reuses a number.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_SHARD_H
#define WAYMARK_SERVICES_REDIRECTOR_JOURNAL_JOURNAL_SHARD_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/redirect_event.h"
#include "services/redirector/journal/journal.h"

struct journal_shard;

/* The journal's directory is config->dir. The shard sets on_released of its copy of config. */
struct journal_shard *journal_shard_new(const struct journal_config *config);
void journal_shard_free(struct journal_shard *shard);

/*
 * Safe from any thread. Gives the event an id of its own and a sequence. slug_hash decides the
 * partition. ERR_LIMIT: the journal is full or cannot be written, or the event's link or network
 * already holds more of it than is free; the event was not stored.
 */
enum err journal_shard_append(struct journal_shard *shard, const struct redirect_event *event,
                              uint64_t slug_hash) MUST_CHECK;

/* Events that were refused because their link or network held too much. Safe from any thread. */
uint64_t journal_shard_over_share(const struct journal_shard *shard);

/* Everything needed to send an event without decoding it. Borrowed until it is acked. */
struct journal_shard_record {
	const uint8_t *instance;
	uint64_t sequence;
	uint64_t slug_hash;
	/* A waymark.v1.RedirectEvent. */
	const void *bytes;
	size_t len;
	/* For journal_ack. */
	uint64_t ack_id;
};

/* See journal_next. */
bool journal_shard_next(struct journal_shard *shard, struct journal_shard_record *record);

/* For journal_ack, journal_maintain and journal_count. */
struct journal *journal_shard_journal(struct journal_shard *shard);

#endif
