#include <stdio.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "lib/base/mem.h"
#include "lib/protobuf/protobuf.h"
#include "tests/support/test.h"
#include "waymark/v1/link_event.pb-c.h"
#include "waymark/v1/link_extras.pb-c.h"

static const char *problem;

static void *unpack_extras(const void *bytes, size_t len)
{
	/* Exactly as long, so that AddressSanitizer sees the first byte read too far. */
	void *copy = mem_copy(bytes, len);
	void *message = protobuf_unpack(&waymark__v1__link_extras__descriptor, copy, len, &problem);
	free(copy);
	return message;
}

#define UNPACK(bytes) unpack_extras(bytes, sizeof(bytes) - 1)

/* What protobuf-c writes is read, and is written again as it was. */
static void expect_same(const ProtobufCMessage *message)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	uint8_t *written = mem_zero(len + 1), *again = mem_zero(len + 1);
	protobuf_c_message_pack(message, written);
	ProtobufCMessage *read = protobuf_unpack(message->descriptor, written, len, &problem);
	assert_non_null(read);
	assert_int_equal(protobuf_c_message_get_packed_size(read), len);
	protobuf_c_message_pack(read, again);
	assert_memory_equal(again, written, len);
	protobuf_free(read);
	free(written);
	free(again);
}

TEST_CASE(reads_texts_bytes_numbers_and_messages)
{
	Waymark__V1__Link link = WAYMARK__V1__LINK__INIT;
	Waymark__V1__LinkEvent event = WAYMARK__V1__LINK_EVENT__INIT;
	char *tags[] = { (char *)"a", (char *)"", (char *)"ü" };
	event.event_id = (ProtobufCBinaryData){ 3, (uint8_t *)"\0\xff\1" };
	event.occurred_at_us = INT64_MAX;
	event.change = (Waymark__V1__LinkChange)77;
	event.link = &link;
	link.id = INT64_MIN;
	link.slug = (char *)"spring";
	link.tags = tags;
	link.n_tags = 3;
	link.slug_is_exact = true;
	expect_same(&event.base);
}

TEST_CASE(reads_arrays_that_grow_over_several_blocks)
{
	enum { COUNT = 1000 };
	Waymark__V1__LinkExtras extras = WAYMARK__V1__LINK_EXTRAS__INIT;
	Waymark__V1__LinkVariant variant = WAYMARK__V1__LINK_VARIANT__INIT;
	Waymark__V1__LinkZone zone = WAYMARK__V1__LINK_ZONE__INIT, *zones[] = { &zone };
	static Waymark__V1__LinkVariant *variants[COUNT];
	static int64_t since_s[COUNT];
	static int32_t offset_s[COUNT];
	for (int i = 0; i < COUNT; i++) {
		variants[i] = &variant;
		since_s[i] = i - COUNT / 2;
		offset_s[i] = COUNT / 2 - i;
	}
	extras.variants = variants;
	extras.zones = zones;
	extras.n_zones = 1;
	zone.since_s = since_s;
	zone.offset_s = offset_s;
	for (size_t count = 1; count <= COUNT; count = count < 10 ? count + 1 : 10 * count) {
		extras.n_variants = zone.n_since_s = zone.n_offset_s = count;
		expect_same(&extras.base);
	}
}

TEST_CASE(reads_numbers_of_an_array_one_by_one_as_well)
{
	Waymark__V1__LinkExtras *extras = UNPACK("\x5a\x07\x10\x05\x12\x01\x06\x10\x07");
	assert_non_null(extras);
	assert_int_equal(extras->zones[0]->n_since_s, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(extras->zones[0]->since_s[i], 5 + i);
	protobuf_free(extras);
}

TEST_CASE(the_last_of_several_values_counts_and_unknown_fields_do_not)
{
	Waymark__V1__LinkExtras *extras =
		UNPACK("\x1a\x03yes\xa2\x06\x02zz\x1a\x02no\x20\x01\x20\x00"
	               "\xa5\x06\x01\x01\x01\x01");
	assert_non_null(extras);
	assert_string_equal(extras->winner, "no");
	assert_false(extras->forward_query);
	assert_string_equal(extras->password_hash, "");
	protobuf_free(extras);
	protobuf_free(NULL);
}

TEST_CASE(names_the_text_that_is_not_valid)
{
	assert_null(UNPACK("\x1a\x01\xff"));
	assert_string_equal(problem, "winner");
	assert_null(UNPACK("\x12\x05\x0a\x03"
	                   "a\0b"));
	assert_string_equal(problem, "name");
	assert_null(UNPACK("\x1a\x01xx"));
	assert_string_equal(problem, "message");
}

TEST_CASE(refuses_what_is_malformed)
{
	assert_null(unpack_extras("", 0));
	assert_null(UNPACK("\x1a"));
	assert_null(UNPACK("\x1a\x02x"));
	assert_null(UNPACK("\x00\x00"));
	assert_null(UNPACK("\x18\x01"));
	assert_null(UNPACK("\x22\x01\x01"));
	assert_null(UNPACK("\x08\x01"));
	assert_null(UNPACK("\x5a\x03\x12\x01\x80"));
	assert_null(UNPACK("\x1b"));
	assert_null(UNPACK("\x12\x02\x0a\x05"));
	/* A message that may be there once. */
	assert_null(
		protobuf_unpack(&waymark__v1__link_event__descriptor, "\x22\0\x22\0", 4, &problem));
}

TEST_MAIN()
