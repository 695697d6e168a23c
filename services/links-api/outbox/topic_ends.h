/*
 * The ends of the partitions of waymark.links.v1, as the relay knows them: from the brokers once,
 * and from then on from the acks of its own records, because nobody else writes there. Watermarks
 * carry them (lib/links/watermark.h).
 *
 * An offset below the known end shows that the topic was created again. The end is then unknown
 * until the brokers are queried, and lowest_end keeps the lowest one for the readers, until Kafka
 * has acknowledged a watermark with it.
 *
 * Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_TOPIC_ENDS_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_TOPIC_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/links/watermark.h"

struct topic_ends {
	bool are_known;
	int32_t partitions;
	struct watermark_partition partition[WATERMARK_PARTITIONS_MAX];
	/* In the watermark that is in flight. */
	int64_t lowest_sent[WATERMARK_PARTITIONS_MAX];
};

/* Forgets everything: other relays may have written meanwhile. */
void topic_ends_reset(struct topic_ends *ends);

/* The brokers named these ends while no record was in flight. */
void topic_ends_set(struct topic_ends *ends, const int64_t *queried, int32_t partitions);

/* A record was acked. A negative offset is unknown. */
void topic_ends_add(struct topic_ends *ends, int32_t partition, int64_t offset);

/* Copies the ends into a watermark that is about to be sent. They must be known. */
void topic_ends_take(struct topic_ends *ends, struct watermark *out);

/* That watermark was not acked, so the next one has to repeat its lowest ends. */
void topic_ends_restore(struct topic_ends *ends);

#endif
