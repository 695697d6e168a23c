#include <string.h>

#include "lib/kafka/kafka_message.h"
#include "tests/support/test.h"

static int64_t fingerprint_of(const struct kafka_message *m)
{
	struct kafka_message_head head;
	kafka_message_copy_head(m, &head);
	return kafka_message_fingerprint(&head);
}

/* The store has fingerprints of earlier versions. Another result would halt every partition. */
TEST_CASE(computes_the_fingerprint_of_earlier_versions)
{
	char value[100];
	memset(value, 'v', sizeof(value));
	struct kafka_message m = { .timestamp_ms = 1700000000123, .key = "spring", .key_len = 6 };
	assert_true(fingerprint_of(&m) == INT64_C(-8828426707770904899));
	m.value = value;
	assert_true(fingerprint_of(&m) == INT64_C(3796135908106159429));
	m.value_len = sizeof(value);
	assert_true(fingerprint_of(&m) == INT64_C(-8542786334363003623));
}

TEST_CASE(covers_time_key_length_and_first_bytes)
{
	char value[100] = "a";
	struct kafka_message m = { .value = value, .value_len = sizeof(value) };
	int64_t first = fingerprint_of(&m);
	value[KAFKA_MESSAGE_HEAD_BYTES] = 'x';
	assert_true(fingerprint_of(&m) == first);
	value[KAFKA_MESSAGE_HEAD_BYTES - 1] = 'x';
	int64_t second = fingerprint_of(&m);
	m.value_len--;
	int64_t third = fingerprint_of(&m);
	m.timestamp_ms++;
	int64_t fourth = fingerprint_of(&m);
	m.key = "k";
	m.key_len = 1;
	int64_t fifth = fingerprint_of(&m);
	assert_true(first != second && second != third && third != fourth && fourth != fifth);
}

TEST_MAIN()
