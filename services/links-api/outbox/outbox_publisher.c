#include "services/links-api/outbox/outbox_publisher.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/kafka/cloud_event.h"
#include "lib/kafka/kafka_producer.h"
#include "lib/links/link_event.h"
#include "lib/links/watermark.h"

#define QUEUE_MAX                                                                                  \
	((size_t)2 * OUTBOX_PUBLISHER_ROWS_MAX) /* each event may be followed by a tombstone */
#define SOURCE "/waymark/links-api"

/* --- the ends of partitions --- */

void outbox_publisher_ends_reset(struct outbox_publisher_ends *ends)
{
	ends->are_known = false;
	ends->partitions = 0;
}

static void lower(int64_t *lowest, int64_t end)
{
	if (end < *lowest)
		*lowest = end;
}

void outbox_publisher_ends_set(struct outbox_publisher_ends *ends, const int64_t *queried,
                               int32_t partitions)
{
	for (int32_t p = 0; p < partitions; p++) {
		struct watermark_partition *partition = &ends->partition[p];
		if (p >= ends->partitions)
			partition->lowest_end = ends->lowest_sent[p] = queried[p];
		lower(&partition->lowest_end, queried[p]);
		partition->end = queried[p];
	}
	ends->partitions = partitions;
	ends->are_known = true;
}

void outbox_publisher_ends_add(struct outbox_publisher_ends *ends, int32_t partition,
                               int64_t offset)
{
	if (partition < 0 || partition >= ends->partitions || offset < 0) {
		ends->are_known = false;
		return;
	}
	struct watermark_partition *known = &ends->partition[partition];
	if (offset < known->end)
		ends->are_known = false;
	lower(&known->lowest_end, offset);
	known->end = offset + 1;
}

void outbox_publisher_ends_take(struct outbox_publisher_ends *ends, struct watermark *out)
{
	size_t size = (size_t)ends->partitions * sizeof(ends->partition[0]);
	memcpy(out->partition, ends->partition, size);
	out->partitions = ends->partitions;
	for (int32_t p = 0; p < ends->partitions; p++) {
		ends->lowest_sent[p] = ends->partition[p].lowest_end;
		ends->partition[p].lowest_end = ends->partition[p].end;
	}
}

void outbox_publisher_ends_restore(struct outbox_publisher_ends *ends)
{
	for (int32_t p = 0; p < ends->partitions; p++)
		lower(&ends->partition[p].lowest_end, ends->lowest_sent[p]);
}

/* --- the publisher --- */

struct outbox_publisher {
	struct kafka_config kafka;
	const struct log *log;
	struct kafka_producer *producer;
	/* Events since the last flush. */
	_Atomic size_t undelivered;
	/* The last one was not delivered. */
	_Atomic bool is_watermark_lost;
	/* The producer's thread changes it while events are in flight. */
	struct outbox_publisher_ends ends;
};

/* Events have an opaque pointer, watermarks do not. */
static void delivered(void *ctx, void *opaque, enum err result)
{
	struct outbox_publisher *p = ctx;
	if (result == OK)
		return;
	if (opaque)
		atomic_fetch_add(&p->undelivered, 1);
	else
		atomic_store(&p->is_watermark_lost, true);
}

static void acked(void *ctx, const struct kafka_record *record, int32_t partition, int64_t offset)
{
	struct outbox_publisher *p = ctx;
	if (record->opaque)
		outbox_publisher_ends_add(&p->ends, partition, offset);
}

enum err outbox_publisher_new(const struct kafka_config *kafka, const struct log *log,
                              struct metrics *metrics, struct outbox_publisher **out)
{
	struct outbox_publisher *p = mem_zero(sizeof(*p));
	p->kafka = *kafka;
	p->log = log;
	snprintf(p->kafka.client_id, sizeof(p->kafka.client_id), "waymark-links-api");
	struct kafka_producer_config producer = {
		.kafka = &p->kafka,
		.topics = { LINK_EVENT_TOPIC, WATERMARK_TOPIC },
		.queue_max = QUEUE_MAX,
		.queue_bytes_max = QUEUE_MAX * LINK_EVENT_BYTES_MAX,
		.linger_ms = 0,
		.message_timeout_ms = OUTBOX_PUBLISHER_TIMEOUT_MS,
		.delivered = delivered,
		.acked = acked,
		.ctx = p,
		.log = log,
		.metrics = metrics,
	};
	enum err err = kafka_producer_new(&producer, &p->producer);
	if (err == OK)
		*out = p;
	else
		free(p);
	return err;
}

void outbox_publisher_free(struct outbox_publisher *p)
{
	if (!p)
		return;
	kafka_producer_free(p->producer);
	free(p);
}

static enum err send_record(struct outbox_publisher *p, const struct outbox_row *row,
                            const struct link_event *event, bool is_tombstone)
{
	struct cloud_event headers;
	struct kafka_record record = {
		.topic = LINK_EVENT_TOPIC,
		.key = row->slug,
		.key_len = strlen(row->slug),
		.value = is_tombstone ? NULL : row->payload,
		.value_len = is_tombstone ? 0 : row->payload_len,
		.opaque = p,
	};
	cloud_event_headers(&headers, event->event_id, event->occurred_at_us, LINK_EVENT_TYPE,
	                    LINK_EVENT_SCHEMA, SOURCE, row->slug, &record);
	return kafka_producer_send(p->producer, &record);
}

bool outbox_publisher_reaches_kafka(const struct outbox_publisher *p)
{
	return kafka_producer_is_reachable(p->producer);
}

enum err outbox_publisher_send(struct outbox_publisher *p, const struct outbox_row *row)
{
	struct link_event event = { .occurred_at_us = row->created_at_us };
	if (link_event_decode(row->payload, row->payload_len, &event) != OK) {
		/*
		 * Consumers may understand an event that this version does not, so it is published
		 * anyway.
		 */
		log_error(p->log, "outbox_event_undecodable", LOG_INT("outbox_id", row->id));
		entropy_uuid7(row->created_at_us, event.event_id);
	}
	enum err err = send_record(p, row, &event, false);
	/* A spelling of a slug may come back. */
	if (err == OK && event.change == LINK_CHANGE_PURGED &&
	    !link_is_respelled(&event.link.entry))
		err = send_record(p, row, &event, true);
	return err;
}

void outbox_publisher_forget_ends(struct outbox_publisher *p)
{
	outbox_publisher_ends_reset(&p->ends);
}

enum err outbox_publisher_query_ends(struct outbox_publisher *p, int64_t timeout_ms)
{
	int64_t ends[WATERMARK_PARTITIONS_MAX];
	int32_t partitions = 0;
	enum err err = kafka_producer_query_ends(p->producer, LINK_EVENT_TOPIC, timeout_ms, ends,
	                                         WATERMARK_PARTITIONS_MAX, &partitions);
	if (err == OK)
		outbox_publisher_ends_set(&p->ends, ends, partitions);
	else if (err == ERR_LIMIT)
		log_error(p->log, "link_topic_has_too_many_partitions",
		          LOG_INT("max", WATERMARK_PARTITIONS_MAX));
	return err;
}

bool outbox_publisher_knows_ends(const struct outbox_publisher *p)
{
	return p->ends.are_known;
}

enum err outbox_publisher_send_watermark(struct outbox_publisher *p, int64_t as_of_us,
                                         int64_t generation, int64_t version_base)
{
	if (kafka_producer_queued(p->producer) > 0 || !p->ends.are_known)
		return ERR_UNAVAILABLE;
	if (atomic_exchange(&p->is_watermark_lost, false))
		outbox_publisher_ends_restore(&p->ends);
	struct watermark watermark = { .as_of_us = as_of_us,
		                       .generation = generation,
		                       .version_base = version_base };
	outbox_publisher_ends_take(&p->ends, &watermark);
	uint8_t bytes[WATERMARK_BYTES_MAX];
	const struct kafka_record record = {
		.topic = WATERMARK_TOPIC,
		.value = bytes,
		.value_len = watermark_encode(&watermark, bytes),
	};
	enum err err = kafka_producer_send(p->producer, &record);
	if (err != OK)
		outbox_publisher_ends_restore(&p->ends);
	return err;
}

enum err outbox_publisher_flush(struct outbox_publisher *p, int64_t timeout_ms)
{
	if (kafka_producer_flush(p->producer, timeout_ms) != OK)
		return ERR_LIMIT;
	return atomic_exchange(&p->undelivered, 0) == 0 ? OK : ERR_UNAVAILABLE;
}
