#include "lib/base/hash_table.h"
#include "tests/support/test.h"

#define FLOOD 2000
#define BUCKETS 1024
#define GUESSED_SEED 0

struct entry {
	uint64_t key;
	UT_hash_handle hh;
};

static unsigned longest_chain(const struct entry *entries)
{
	unsigned longest = 0;
	const UT_hash_table *table = entries->hh.tbl;
	for (unsigned i = 0; i < table->num_buckets; i++)
		if (table->buckets[i].count > longest)
			longest = table->buckets[i].count;
	return longest;
}

/* Without the seed of the process, all keys would share one bucket. */
TEST_CASE(chosen_keys_do_not_share_a_bucket)
{
	struct entry *table = NULL;
	struct entry *entries = mem_array(FLOOD, sizeof(*entries));
	uint64_t key = 0;
	for (size_t i = 0; i < FLOOD; i++) {
		do
			key++;
		while (hash_table_hash(GUESSED_SEED, &key, sizeof(key)) % BUCKETS != 0);
		entries[i].key = key;
		HASH_ADD(hh, table, key, sizeof(key), &entries[i]);
	}
	assert_true(longest_chain(table) < 25);
	HASH_CLEAR(hh, table);
	free(entries);
}

TEST_CASE(finds_what_was_added_in_the_order_of_adding)
{
	struct entry *table = NULL;
	struct entry entries[100];
	for (uint64_t i = 0; i < 100; i++) {
		entries[i].key = i;
		HASH_ADD(hh, table, key, sizeof(i), &entries[i]);
	}
	uint64_t next = 0;
	for (const struct entry *at = table; at; at = at->hh.next)
		assert_int_equal(at->key, next++);
	for (uint64_t i = 0; i < 101; i++) {
		struct entry *found;
		HASH_FIND(hh, table, &i, sizeof(i), found);
		assert_ptr_equal(found, i < 100 ? &entries[i] : NULL);
	}
	HASH_CLEAR(hh, table);
}

TEST_CASE(a_hash_depends_on_seed_length_and_every_byte)
{
	char text[20] = { 0 };
	uint64_t zeros = hash_table_hash(1, text, sizeof(text));
	assert_true(zeros != hash_table_hash(2, text, sizeof(text)));
	assert_true(zeros != hash_table_hash(1, text, sizeof(text) - 1));
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = 1;
		assert_true(zeros != hash_table_hash(1, text, sizeof(text)));
		text[i] = 0;
	}
}

TEST_MAIN()
