#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/kafka/kafka_queue.h"
#include "tests/support/test.h"

TEST_CASE(owns_a_copy_of_everything)
{
	char topic[] = "topic", key[] = "key", value[] = "va\0ue", text[] = "text";
	int opaque = 0;
	struct kafka_record record = {
		.topic = topic,
		.key = key,
		.key_len = 3,
		.value = value,
		.value_len = 5,
		.header_count = 1,
		.opaque = &opaque,
	};
	record.headers[0] = (struct kafka_header){ "name", text };
	struct kafka_queue_entry *entry = kafka_queue_entry_new(&record);
	topic[0] = key[0] = value[0] = text[0] = '#';
	assert_string_equal(entry->record.topic, "topic");
	assert_int_equal(entry->record.key_len, 3);
	assert_memory_equal(entry->record.key, "key", 3);
	assert_int_equal(entry->record.value_len, 5);
	assert_memory_equal(entry->record.value, "va\0ue", 5);
	assert_string_equal(entry->record.headers[0].name, "name");
	assert_string_equal(entry->record.headers[0].value, "text");
	assert_ptr_equal(entry->record.opaque, &opaque);
	free(entry);
}

TEST_CASE(counts_a_borrowed_value_and_does_not_copy_it)
{
	const char value[] = "value";
	struct kafka_record record = {
		.topic = "t", .value = value, .value_len = 5, .value_is_borrowed = true
	};
	struct kafka_queue_entry *kept = kafka_queue_entry_new(&record);
	record.value_is_borrowed = false;
	struct kafka_queue_entry *copied = kafka_queue_entry_new(&record);
	assert_ptr_equal(kept->record.value, value);
	assert_ptr_not_equal(copied->record.value, value);
	assert_int_equal(copied->bytes, kept->bytes);
	assert_true(kept->bytes >= sizeof(*kept) + sizeof("t") + 5);
	free(kept);
	free(copied);
}

TEST_CASE(distinguishes_a_tombstone_from_an_empty_value)
{
	struct kafka_queue_entry *tombstone = kafka_queue_entry_new(
		&(struct kafka_record){ .topic = "t", .key = "k", .key_len = 1 });
	struct kafka_queue_entry *empty =
		kafka_queue_entry_new(&(struct kafka_record){ .topic = "t", .value = "" });
	assert_null(tombstone->record.value);
	assert_non_null(empty->record.value);
	assert_null(empty->record.key);
	free(tombstone);
	free(empty);
}

static struct kafka_queue_entry *numbered(uint64_t sequence)
{
	struct kafka_queue_entry *entry =
		kafka_queue_entry_new(&(struct kafka_record){ .topic = "t" });
	entry->sequence = sequence;
	return entry;
}

TEST_CASE(pops_entries_in_order_of_acceptance)
{
	struct kafka_queue backlog = { 0 };
	struct kafka_queue back = { 0 };
	static const uint64_t late[] = { 4, 1, 3, 2 };
	for (uint64_t s = 5; s <= 8; s++)
		kafka_queue_append(&backlog, numbered(s));
	for (size_t i = 0; i < 4; i++)
		kafka_queue_append(&back, numbered(late[i]));
	kafka_queue_merge(&backlog, &back);
	assert_null(back.first);
	for (uint64_t s = 1; s <= 8; s++) {
		struct kafka_queue_entry *entry = kafka_queue_pop(&backlog);
		assert_int_equal(entry->sequence, s);
		free(entry);
	}
	assert_null(kafka_queue_pop(&backlog));
}

TEST_CASE(merges_empty_queues)
{
	struct kafka_queue a = { 0 };
	struct kafka_queue b = { 0 };
	kafka_queue_merge(&a, &b);
	assert_null(a.first);
}

TEST_MAIN()
