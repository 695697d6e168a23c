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

/* Precedes the event: what the shipper needs to put it into a batch. */
struct head {
	uint8_t instance[ENTROPY_UUID_SIZE];
	uint64_t sequence;
	uint64_t slug_hash;
	/* Where its bytes are counted; for the process that wrote the record. */
	struct shares shares;
	uint8_t zero[4];
};
/* A journal may be read by a later version of the program. */
static_assert(sizeof(struct head) == 40, "the size of the head is part of the format");

struct record {
	struct head head;
	uint8_t event[REDIRECT_EVENT_BYTES_MAX];
};

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
	return shard;
}

void journal_shard_free(struct journal_shard *shard)
{
	if (!shard)
		return;
	journal_free(shard->journal);
	pthread_mutex_destroy(&shard->append_lock);
	free(shard);
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

/* Counted first: the record may be released before journal_append returns. */
static enum err append(struct journal_shard *shard, const struct record *record, size_t len)
{
	int64_t bytes = (int64_t)journal_segment_record_bytes(len);
	count_held(shard, record->head.shares, bytes);
	enum err err = journal_append(shard->journal, record, len);
	if (err != OK)
		count_held(shard, record->head.shares, -bytes);
	return err;
}

enum err journal_shard_append(struct journal_shard *shard, const struct redirect_event *event,
                              uint64_t slug_hash)
{
	struct record record;
	record.head = (struct head){ .slug_hash = slug_hash,
		                     .shares = { { holder_of(shard, event->slug, 0),
		                                   holder_of(shard, event->client_network, 1) } } };
	memcpy(record.head.instance, shard->instance, sizeof(record.head.instance));
	size_t len = sizeof(record.head) + redirect_event_encode(event, record.event);
	if (!has_room(shard, record.head.shares))
		return ERR_LIMIT;
	pthread_mutex_lock(&shard->append_lock);
	entropy_pool_uuid7(&shard->entropy, event->occurred_at_us,
	                   record.event + REDIRECT_EVENT_ID_AT);
	record.head.sequence = shard->sequence + 1;
	enum err err = append(shard, &record, len);
	if (err == OK)
		shard->sequence++;
	pthread_mutex_unlock(&shard->append_lock);
	return err;
}

bool journal_shard_next(struct journal_shard *shard, struct journal_shard_record *record)
{
	struct journal_record found;
	if (!journal_next(shard->journal, &found))
		return false;
	const struct head *head = found.bytes;
	*record = (struct journal_shard_record){
		.instance = head->instance,
		.sequence = head->sequence,
		.slug_hash = head->slug_hash,
		.bytes = head + 1,
		.len = found.len - sizeof(*head),
		.ack_id = found.ack_id,
	};
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
