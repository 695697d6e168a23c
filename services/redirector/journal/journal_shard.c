#include "services/redirector/journal/journal_shard.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/mem.h"
#include "services/redirector/journal/journal_segment.h"

/*
 * An event is stored while its link and its network each hold fewer bytes than are free. So one
 * that sends most of the clicks stops at half of the journal, two at a third each, and the rest
 * stays for all others. Bytes are counted by keyed hashes, so nobody can choose a link that counts
 * with another one; index 0 is not counted.
 */
#define HOLDERS 8192

struct shares {
	uint16_t holders[2];
};

/*
 * Precedes the message: what the shipper needs for the key and headers of the Kafka record. The slug
 * follows, then TRACE_CONTEXT_SIZE bytes of traceparent if has_trace, then the message.
 */
struct head {
	uint8_t event_id[ENTROPY_UUID_SIZE];
	int64_t occurred_at_us;
	uint8_t slug_len;
	bool has_trace;
	/* Where its bytes are counted; for the process that wrote the record. */
	struct shares shares;
	uint8_t zero[2];
};
/* A journal may be read by a later version of the program. */
static_assert(sizeof(struct head) == 32, "the size of the head is part of the format");

struct journal_shard {
	struct journal *journal;
	size_t bytes_max;
	uint64_t holder_key;
	_Atomic uint64_t held[HOLDERS];
	_Atomic uint64_t over_share;
	uint8_t instance[ENTROPY_UUID_SIZE];
	/* Keeps the sequence in the order of the journal. */
	pthread_mutex_t append_lock;
	uint64_t sequence;
	struct entropy_pool entropy;
	struct strbuf bytes;
};

static uint16_t holder_of(const struct journal_shard *shard, const char *text, uint64_t kind)
{
	if (text[0] == '\0')
		return 0;
	uint64_t hash = XXH3_64bits_withSeed(text, strlen(text), shard->holder_key ^ kind);
	return (uint16_t)(1 + hash % (HOLDERS - 1));
}

/* Adds bytes that came, or takes off those that left. */
static void count_held(struct journal_shard *shard, struct shares shares, int64_t bytes)
{
	for (size_t i = 0; i < 2; i++)
		if (shares.holders[i] != 0)
			atomic_fetch_add_explicit(&shard->held[shares.holders[i]], (uint64_t)bytes,
			                          memory_order_relaxed);
}

static void on_released(void *ctx, const void *bytes, size_t len)
{
	const struct head *head = bytes;
	count_held(ctx, head->shares, -(int64_t)journal_segment_record_bytes(len));
}

struct journal_shard *journal_shard_new(const struct journal_config *config)
{
	struct journal_shard *shard = mem_zero(sizeof(*shard));
	struct journal_config own = *config;
	own.on_released = on_released;
	own.ctx = shard;
	shard->bytes_max = config->bytes_max;
	entropy_fill(&shard->holder_key, sizeof(shard->holder_key));
	shard->journal = journal_new(&own);
	entropy_uuid4(shard->instance);
	pthread_mutex_init(&shard->append_lock, NULL);
	strbuf_init(&shard->bytes, sizeof(struct head) + SLUG_SIZE + TRACE_CONTEXT_SIZE +
	                                   REDIRECT_EVENT_BYTES_MAX);
	return shard;
}

void journal_shard_free(struct journal_shard *shard)
{
	if (!shard)
		return;
	journal_free(shard->journal);
	strbuf_clear(&shard->bytes);
	pthread_mutex_destroy(&shard->append_lock);
	free(shard);
}

/* Counted first: the record may be released before journal_append returns. */
static enum err append_bytes(struct journal_shard *shard, struct shares shares)
{
	int64_t bytes = (int64_t)journal_segment_record_bytes(shard->bytes.len);
	count_held(shard, shares, bytes);
	enum err err = journal_append(shard->journal, shard->bytes.data, shard->bytes.len);
	if (err != OK)
		count_held(shard, shares, -bytes);
	return err;
}

static bool has_room(struct journal_shard *shard, struct shares shares)
{
	uint64_t held = journal_count(shard->journal).held;
	uint64_t free_bytes = held < shard->bytes_max ? shard->bytes_max - held : 0;
	for (size_t i = 0; i < 2; i++) {
		if (atomic_load_explicit(&shard->held[shares.holders[i]], memory_order_relaxed) <
		    free_bytes)
			continue;
		atomic_fetch_add(&shard->over_share, 1);
		return false;
	}
	return true;
}

static enum err append(struct journal_shard *shard, struct redirect_event *event,
                       const char *traceparent)
{
	struct head head = { .occurred_at_us = event->occurred_at_us,
		             .slug_len = (uint8_t)strlen(event->slug),
		             .has_trace = traceparent[0] != '\0',
		             .shares = { { holder_of(shard, event->slug, 0),
		                           holder_of(shard, event->client_network, 1) } } };
	if (!has_room(shard, head.shares))
		return ERR_LIMIT;
	memcpy(event->instance, shard->instance, sizeof(event->instance));
	event->sequence = shard->sequence + 1;
	entropy_pool_uuid7(&shard->entropy, event->occurred_at_us, event->event_id);
	memcpy(head.event_id, event->event_id, sizeof(head.event_id));
	strbuf_reset(&shard->bytes);
	strbuf_add(&shard->bytes, &head, sizeof(head));
	strbuf_add(&shard->bytes, event->slug, head.slug_len);
	if (head.has_trace)
		strbuf_add(&shard->bytes, traceparent, TRACE_CONTEXT_SIZE);
	redirect_event_encode(event, &shard->bytes);
	enum err err = strbuf_status(&shard->bytes);
	if (err == OK)
		err = append_bytes(shard, head.shares);
	if (err == OK)
		shard->sequence++;
	return err;
}

enum err journal_shard_append(struct journal_shard *shard, struct redirect_event *event,
                              const char *traceparent)
{
	pthread_mutex_lock(&shard->append_lock);
	enum err err = append(shard, event, traceparent);
	pthread_mutex_unlock(&shard->append_lock);
	return err;
}

bool journal_shard_next(struct journal_shard *shard, struct journal_shard_record *record)
{
	struct journal_record found;
	if (!journal_next(shard->journal, &found))
		return false;
	const struct head *head = found.bytes;
	const char *slug = (const char *)(head + 1), *trace = slug + head->slug_len;
	size_t trace_len = head->has_trace ? TRACE_CONTEXT_SIZE : 0;
	*record = (struct journal_shard_record){
		.event_id = head->event_id,
		.occurred_at_us = head->occurred_at_us,
		.bytes = trace + trace_len,
		.len = found.len - sizeof(*head) - head->slug_len - trace_len,
		.ack_id = found.ack_id,
	};
	memcpy(record->slug, slug, head->slug_len);
	memcpy(record->traceparent, trace, trace_len);
	return true;
}

uint64_t journal_shard_over_share(const struct journal_shard *shard)
{
	return atomic_load(&shard->over_share);
}

struct journal *journal_shard_journal(struct journal_shard *shard)
{
	return shard->journal;
}
