#include "tests/integration/analytics-consumer/partition_owner.h"

#include <stdint.h>

#include "lib/base/clock.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "tests/support/test.h"

#define BATCH_MAX 2000
#define TOPIC "redirects"

/* Creates the rows in consumer_offsets, as an assignment does. */
static void create_rows(struct consumer_fixture *fixture)
{
	static const int32_t partitions[] = { 0, 1 };
	struct offsets_partition rows[2];
	struct pg_conn *conn = NULL;
	assert_int_equal(pg_pool_acquire(consumer_fixture_pool(fixture), &conn), OK);
	assert_int_equal(offsets_read(conn, TOPIC, partitions, 2, rows), OK);
	pg_pool_release(fixture->pool, conn);
}

void partition_owner_open(struct partition_owner *owner, struct consumer_fixture *fixture,
                          int64_t stored)
{
	const struct visit_store_config config = { .pool = consumer_fixture_pool(fixture),
		                                   .producer = fixture->producer,
		                                   .topic = TOPIC,
		                                   .visits_max = BATCH_MAX,
		                                   .log = fixture->backend->log };
	const struct offsets_partition partitions[] = {
		{ .partition = 0, .stored = stored, .published = stored },
		{ .partition = 1, .stored = stored, .published = stored }
	};
	*owner = (struct partition_owner){ .fixture = fixture, .store = visit_store_new(&config) };
	batch_init(&owner->batch, BATCH_MAX, TOPIC, "dead-letters");
	offsets_assign(&owner->offsets, partitions, 2);
	create_rows(fixture);
	strbuf_init(&owner->encoded, REDIRECT_EVENT_BYTES_MAX);
}

void partition_owner_close(struct partition_owner *owner)
{
	strbuf_clear(&owner->encoded);
	offsets_clear(&owner->offsets);
	batch_clear(&owner->batch);
	visit_store_free(owner->store);
}

void partition_owner_add(struct partition_owner *owner, int32_t partition, int64_t offset,
                         const struct redirect_event *click)
{
	strbuf_reset(&owner->encoded);
	redirect_event_encode(click, &owner->encoded);
	const struct kafka_message message = { .partition = partition,
		                               .offset = offset,
		                               .value = owner->encoded.data,
		                               .value_len = owner->encoded.len };
	batch_add(&owner->batch, owner->fixture->enrich, &message,
	          offsets_find(&owner->offsets, partition), clock_now_us(clock_system()));
}

void partition_owner_add_clicks(struct partition_owner *owner, int32_t partition,
                                int64_t first_offset, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = consumer_fixture_click(1 + i % 7, (uint32_t)i);
		partition_owner_add(owner, partition, first_offset + i, &click);
	}
}

enum err partition_owner_store(struct partition_owner *owner)
{
	return visit_store_add(owner->store, &owner->batch, &owner->offsets);
}

void partition_owner_begin_batch(struct partition_owner *owner)
{
	offsets_mark_stored(&owner->offsets);
	offsets_mark_published(&owner->offsets);
	offsets_begin_batch(&owner->offsets);
	batch_reset(&owner->batch);
}
