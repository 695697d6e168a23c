#include "services/redirector/journal/journal_shard.h"

#include <pthread.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/redirector/journal/journal_segment.h"
#include "services/redirector/journal/journal_shares.h"

/* Precedes the message: what the shipper needs for the key and headers of the Kafka record. */
struct head {
	uint8_t event_id[ENTROPY_UUID_SIZE];
	int64_t occurred_at_us;
	char slug[33];
	bool has_trace; /* TRACE_CONTEXT_SIZE bytes of traceparent follow, before the message */
	struct journal_share share; /* for the process that wrote the record */
	uint8_t zero[2];
};
/* A journal may be read by a later version of the program. */
_Static_assert(sizeof(struct head) == 64, "the size of the head is part of the format");

struct journal_shard {
	struct journal *journal;
	size_t bytes_max;
	struct journal_shares shares;
	_Atomic uint64_t over_share;
	uint8_t instance[ENTROPY_UUID_SIZE];
	pthread_mutex_t append_lock; /* keeps the sequence in the order of the journal */
	uint64_t sequence;
	struct entropy_pool entropy;
	struct strbuf bytes;
};

static void on_released(void *ctx, const void *bytes, size_t len)
{
	struct journal_shard *shard = ctx;
	const struct head *head = bytes;
	journal_shares_remove(&shard->shares, head->share, journal_segment_record_bytes(len));
}

struct journal_shard *journal_shard_new(const struct journal_config *config)
{
	struct journal_shard *shard = mem_zero(sizeof(*shard));
	struct journal_config own = *config;
	own.on_released = on_released;
	own.ctx = shard;
	shard->bytes_max = config->bytes_max;
	journal_shares_init(&shard->shares);
	shard->journal = journal_new(&own);
	entropy_uuid4(shard->instance);
	pthread_mutex_init(&shard->append_lock, NULL);
	strbuf_init(&shard->bytes,
	            sizeof(struct head) + TRACE_CONTEXT_SIZE + REDIRECT_EVENT_BYTES_MAX);
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
static enum err append_bytes(struct journal_shard *shard, struct journal_share share)
{
	size_t bytes = journal_segment_record_bytes(shard->bytes.len);
	journal_shares_add(&shard->shares, share, bytes);
	enum err e = journal_append(shard->journal, shard->bytes.data, shard->bytes.len);
	if (e != OK)
		journal_shares_remove(&shard->shares, share, bytes);
	return e;
}

static bool has_share(struct journal_shard *shard, struct journal_share share)
{
	uint64_t held = journal_count(shard->journal).held;
	uint64_t free_bytes = held < shard->bytes_max ? shard->bytes_max - held : 0;
	bool is_admitted = journal_shares_admit(&shard->shares, share, free_bytes);
	if (!is_admitted)
		atomic_fetch_add(&shard->over_share, 1);
	return is_admitted;
}

static enum err append(struct journal_shard *shard, struct redirect_event *event,
                       const char *traceparent)
{
	struct head head = { .occurred_at_us = event->occurred_at_us,
		             .has_trace = traceparent[0] != '\0',
		             .share = journal_shares_find(&shard->shares, event->slug,
		                                          event->client_network) };
	if (!has_share(shard, head.share))
		return ERR_LIMIT;
	memcpy(event->instance, shard->instance, sizeof(event->instance));
	event->sequence = shard->sequence + 1;
	entropy_pool_uuid7(&shard->entropy, event->occurred_at_us, event->event_id);
	memcpy(head.event_id, event->event_id, sizeof(head.event_id));
	memcpy(head.slug, event->slug, sizeof(event->slug));
	strbuf_reset(&shard->bytes);
	strbuf_add(&shard->bytes, &head, sizeof(head));
	if (head.has_trace)
		strbuf_add(&shard->bytes, traceparent, TRACE_CONTEXT_SIZE);
	redirect_event_encode(event, &shard->bytes);
	enum err e = strbuf_status(&shard->bytes);
	if (e == OK)
		e = append_bytes(shard, head.share);
	if (e == OK)
		shard->sequence++;
	return e;
}

enum err journal_shard_append(struct journal_shard *shard, struct redirect_event *event,
                              const char *traceparent)
{
	pthread_mutex_lock(&shard->append_lock);
	enum err e = append(shard, event, traceparent);
	pthread_mutex_unlock(&shard->append_lock);
	return e;
}

bool journal_shard_next(struct journal_shard *shard, struct journal_shard_record *record)
{
	struct journal_record found;
	if (!journal_next(shard->journal, &found))
		return false;
	const struct head *head = found.bytes;
	size_t trace_len = head->has_trace ? TRACE_CONTEXT_SIZE : 0;
	*record = (struct journal_shard_record){
		.event_id = head->event_id,
		.occurred_at_us = head->occurred_at_us,
		.bytes = (const char *)(head + 1) + trace_len,
		.len = found.len - sizeof(*head) - trace_len,
		.ack_id = found.ack_id,
	};
	memcpy(record->slug, head->slug, sizeof(record->slug) - 1);
	memcpy(record->traceparent, head + 1, trace_len);
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
