#include "services/redirector/events/event_packer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/redirect_batch.h"

#define LARGER_BATCH_US (60 * CLOCK_US_PER_S)

/* What is packed for one partition and shard. */
struct lane {
	struct redirect_batch_writer writer;
	uint8_t instance[ENTROPY_UUID_SIZE];
	uint8_t id[ENTROPY_UUID_SIZE];
	/* REDIRECT_BATCH_EVENTS_MAX; NULL: never used. */
	uint64_t *ack_ids;
	/* When its last batch was sent. */
	int64_t sent_us;
};

struct event_packer {
	size_t shards;
	int32_t partitions;
	event_packer_send send;
	void *ctx;
	size_t bytes_max;
	/* When larger batches are tried again. */
	int64_t larger_us;
	/* Of each shard and partition. */
	struct lane *lanes;
};

struct event_packer *event_packer_new(size_t shards, event_packer_send send, void *ctx)
{
	struct event_packer *packer = mem_zero(sizeof(*packer));
	*packer = (struct event_packer){
		.shards = shards, .send = send, .ctx = ctx, .bytes_max = EVENT_PACKER_BYTES
	};
	return packer;
}

static size_t lane_count(const struct event_packer *packer)
{
	return packer->shards * (size_t)packer->partitions;
}

static void free_lanes(struct event_packer *packer)
{
	for (size_t i = 0; i < lane_count(packer); i++) {
		redirect_batch_clear(&packer->lanes[i].writer);
		free(packer->lanes[i].ack_ids);
	}
	free(packer->lanes);
}

void event_packer_free(struct event_packer *packer)
{
	if (!packer)
		return;
	free_lanes(packer);
	free(packer);
}

void event_packer_free_batch(struct event_batch *batch)
{
	free(batch->value);
	free(batch);
}

static void send(struct event_packer *packer, struct redirect_batch_writer *writer,
                 const uint8_t *instance, struct event_batch whose, const uint64_t *ack_ids)
{
	size_t count = writer->count;
	struct event_batch *batch =
		mem_resize(NULL, 1, sizeof(*batch) + count * sizeof(*batch->ack_ids));
	*batch = whose;
	batch->count = count;
	memcpy(batch->ack_ids, ack_ids, count * sizeof(*ack_ids));
	void *value = redirect_batch_end(writer, instance, &batch->len);
	/* It may wait for as long as Kafka is away, so spare capacity is given back. */
	batch->value = mem_resize(value, batch->len, 1);
	packer->send(packer->ctx, batch);
}

static void send_lane(struct event_packer *packer, struct lane *lane, int64_t now_us)
{
	size_t index = (size_t)(lane - packer->lanes);
	struct event_batch whose = { .shard = index / (size_t)packer->partitions,
		                     .partition = (int32_t)(index % (size_t)packer->partitions) };
	memcpy(whose.id, lane->id, sizeof(whose.id));
	send(packer, &lane->writer, lane->instance, whose, lane->ack_ids);
	lane->sent_us = now_us;
}

void event_packer_send_due(struct event_packer *packer, int64_t now_us, bool all)
{
	for (size_t i = 0; i < lane_count(packer); i++) {
		struct lane *lane = &packer->lanes[i];
		bool is_due =
			now_us - lane->sent_us >= EVENT_PACKER_LINGER_MS * CLOCK_US_PER_MS || all;
		if (lane->writer.count > 0 && is_due)
			send_lane(packer, lane, now_us);
	}
}

void event_packer_set_partitions(struct event_packer *packer, int32_t count)
{
	if (count == packer->partitions)
		return;
	event_packer_send_due(packer, 0, true);
	free_lanes(packer);
	packer->partitions = count;
	packer->lanes = mem_array(lane_count(packer), sizeof(*packer->lanes));
	for (size_t i = 0; i < lane_count(packer); i++)
		redirect_batch_init(&packer->lanes[i].writer);
}

void event_packer_add(struct event_packer *packer, size_t shard,
                      const struct journal_shard_record *event, int64_t now_us)
{
	size_t partition = event->slug_hash % (size_t)packer->partitions;
	struct lane *lane = &packer->lanes[shard * (size_t)packer->partitions + partition];
	bool is_full = lane->writer.count == REDIRECT_BATCH_EVENTS_MAX ||
	               lane->writer.events.len + event->len > packer->bytes_max;
	/* Events that an earlier process left have another instance. */
	bool is_other = memcmp(lane->instance, event->instance, sizeof(lane->instance)) != 0;
	if (lane->writer.count > 0 && (is_full || is_other))
		send_lane(packer, lane, now_us);
	if (lane->writer.count == 0) {
		memcpy(lane->instance, event->instance, sizeof(lane->instance));
		memcpy(lane->id, (const uint8_t *)event->bytes + REDIRECT_EVENT_ID_AT,
		       sizeof(lane->id));
	}
	if (!lane->ack_ids)
		lane->ack_ids = mem_array(REDIRECT_BATCH_EVENTS_MAX, sizeof(*lane->ack_ids));
	lane->ack_ids[lane->writer.count] = event->ack_id;
	redirect_batch_add(&lane->writer, event->sequence, event->bytes, event->len);
	if (packer->bytes_max < EVENT_PACKER_BYTES && now_us >= packer->larger_us) {
		packer->bytes_max = packer->bytes_max * 2 < EVENT_PACKER_BYTES
		                            ? packer->bytes_max * 2
		                            : EVENT_PACKER_BYTES;
		packer->larger_us = now_us + LARGER_BATCH_US;
	}
}

void event_packer_split(struct event_packer *packer, struct event_batch *batch, int64_t now_us)
{
	struct redirect_batch events;
	struct redirect_batch_writer writer;
	char reason[REDIRECT_EVENT_REASON_SIZE];
	size_t sent = 0;
	redirect_batch_init(&writer);
	/* It was encoded by this process. */
	bool is_open = redirect_batch_open(batch->value, batch->len, &events, reason) == OK;
	for (size_t end = batch->count / 2; is_open && sent < batch->count; end = batch->count) {
		struct event_batch whose = { .shard = batch->shard, .partition = batch->partition };
		const void *event;
		size_t len;
		while (sent + writer.count < end && redirect_batch_next(&events, &event, &len)) {
			if (writer.count == 0)
				memcpy(whose.id, (const uint8_t *)event + REDIRECT_EVENT_ID_AT,
				       sizeof(whose.id));
			redirect_batch_add(&writer, events.sequence, event, len);
		}
		size_t count = writer.count;
		send(packer, &writer, events.instance, whose, batch->ack_ids + sent);
		sent += count;
	}
	redirect_batch_clear(&writer);
	if (batch->len / 2 < packer->bytes_max)
		packer->bytes_max = batch->len / 2;
	packer->larger_us = now_us + LARGER_BATCH_US;
	event_packer_free_batch(batch);
}
