#include "tests/integration/analytics-consumer/partition_owner.h"

#include <stdint.h>

#include "lib/base/clock.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "tests/support/click_batch.h"
#include "tests/support/test.h"

#define BATCH_MAX 2000
#define RECORD_BYTES_MAX ((size_t)1024 * 1024)
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
	int64_t position = offsets_position(stored, 0);
	const struct offsets_partition partitions[] = {
		{ .partition = 0, .stored = position, .published = position },
		{ .partition = 1, .stored = position, .published = position }
	};
	*owner = (struct partition_owner){ .fixture = fixture, .store = visit_store_new(&config) };
	batch_init(&owner->batch, BATCH_MAX, TOPIC, "dead-letters");
	offsets_assign(&owner->offsets, partitions, 2);
	create_rows(fixture);
	strbuf_init(&owner->encoded, RECORD_BYTES_MAX);
}

void partition_owner_close(struct partition_owner *owner)
{
	strbuf_clear(&owner->encoded);
	offsets_clear(&owner->offsets);
	batch_clear(&owner->batch);
	visit_store_free(owner->store);
}

void partition_owner_add_record(struct partition_owner *owner, int32_t partition, int64_t offset,
                                const struct redirect_event *clicks, size_t count)
{
	strbuf_reset(&owner->encoded);
	click_batch_encode(clicks, count, &owner->encoded);
	assert_int_equal(strbuf_status(&owner->encoded), OK);
	const struct kafka_message message = { .partition = partition,
		                               .offset = offset,
		                               .value = owner->encoded.data,
		                               .value_len = owner->encoded.len };
	batch_open(&owner->batch, &message, offsets_find(&owner->offsets, partition),
	           &owner->record);
	partition_owner_continue(owner);
}

void partition_owner_continue(struct partition_owner *owner)
{
	assert_true(owner->record.is_open);
	batch_add(&owner->batch, owner->fixture->enrich, &owner->record,
	          offsets_find(&owner->offsets, owner->record.message.partition),
	          clock_now_us(clock_system()));
}

void partition_owner_add(struct partition_owner *owner, int32_t partition, int64_t offset,
                         const struct redirect_event *click)
{
	partition_owner_add_record(owner, partition, offset, click, 1);
}

void partition_owner_add_clicks(struct partition_owner *owner, int32_t partition,
                                int64_t first_offset, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = consumer_fixture_click(1 + i % 7, (uint32_t)i);
		partition_owner_add(owner, partition, first_offset + i, &click);
	}
}

void partition_owner_publish_from(struct partition_owner *owner, int64_t offset, int64_t index)
{
	offsets_find(&owner->offsets, 0)->published = offsets_position(offset, index);
	offsets_begin_batch(&owner->offsets);
}

enum err partition_owner_store(struct partition_owner *owner)
{
	batch_sort(&owner->batch);
	return visit_store_add(owner->store, &owner->batch, &owner->offsets);
}

void partition_owner_begin_batch(struct partition_owner *owner)
{
	offsets_mark_stored(&owner->offsets);
	offsets_mark_published(&owner->offsets);
	offsets_begin_batch(&owner->offsets);
	batch_reset(&owner->batch);
}
