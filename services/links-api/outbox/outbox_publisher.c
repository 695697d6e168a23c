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

struct outbox_publisher {
	struct kafka_config kafka;
	const struct log *log;
	struct kafka_producer *producer;
	_Atomic size_t undelivered; /* since the last flush */
};

static void delivered(void *ctx, void *opaque, enum err result)
{
	struct outbox_publisher *p = ctx;
	bool is_event = opaque != NULL;
	if (is_event && result != OK)
		atomic_fetch_add(&p->undelivered, 1);
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
		.topics = { LINK_EVENT_TOPIC },
		.queue_max = QUEUE_MAX,
		.queue_bytes_max = QUEUE_MAX * LINK_EVENT_BYTES_MAX,
		.linger_ms = 0,
		.message_timeout_ms = OUTBOX_PUBLISHER_TIMEOUT_MS,
		.delivered = delivered,
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
	if (err == OK && event.change == LINK_CHANGE_PURGED)
		err = send_record(p, row, &event, true);
	return err;
}

enum err outbox_publisher_send_watermark(struct outbox_publisher *p, int64_t as_of_us,
                                         int64_t generation, int64_t version_base)
{
	struct watermark watermark = { as_of_us, generation,
		                       kafka_producer_partitions(p->producer, LINK_EVENT_TOPIC),
		                       version_base };
	if (watermark.partitions == 0 || kafka_producer_queued(p->producer) > 0)
		return ERR_UNAVAILABLE;
	enum err err = OK;
	for (int32_t partition = 0; partition < watermark.partitions && err == OK; partition++) {
		struct watermark_buffers texts = { 0 };
		struct kafka_record record;
		watermark_write(&watermark, partition, SOURCE, &texts, &record);
		err = kafka_producer_send(p->producer, &record);
	}
	return err;
}

enum err outbox_publisher_flush(struct outbox_publisher *p, int64_t timeout_ms)
{
	if (kafka_producer_flush(p->producer, timeout_ms) != OK)
		return ERR_LIMIT;
	return atomic_exchange(&p->undelivered, 0) == 0 ? OK : ERR_UNAVAILABLE;
}
