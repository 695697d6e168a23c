#include <stdint.h>
#include <string.h>

#include "lib/kafka/cloud_event.h"
#include "tests/support/test.h"

TEST_CASE(carries_the_headers_of_the_kafka_binding_in_binary_mode)
{
	static const uint8_t id[ENTROPY_UUID_SIZE] = { 0x01, 0x90, 0xf0, 0xc6, 0x7c,
		                                       0x3e, 0x70, 0,    0x80 };
	static const struct kafka_header expected[] = {
		{ "ce_specversion", "1.0" },
		{ "ce_id", "0190f0c6-7c3e-7000-8000-000000000000" },
		{ "ce_type", "waymark.redirect.v1" },
		{ "ce_source", "/waymark/redirector" },
		{ "ce_time", "2026-11-20T08:00:00.123456Z" },
		{ "content-type", "application/protobuf" },
		{ "ce_subject", "abc" },
		{ "ce_dataschema", "urn:waymark:proto:waymark.v1.RedirectEvent" },
	};
	struct cloud_event event;
	struct kafka_record record = { .topic = "t", .value = "v", .value_len = 1 };
	cloud_event_headers(&event, id, INT64_C(1795161600123456), "waymark.redirect.v1",
	                    "urn:waymark:proto:waymark.v1.RedirectEvent", "/waymark/redirector",
	                    "abc", &record);
	assert_int_equal(record.header_count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < record.header_count; i++) {
		assert_string_equal(record.headers[i].name, expected[i].name);
		assert_string_equal(record.headers[i].value, expected[i].value);
	}
}

TEST_CASE(names_no_subject_where_there_is_none)
{
	static const uint8_t id[ENTROPY_UUID_SIZE] = { 1 };
	struct cloud_event event;
	struct kafka_record record = { .topic = "t", .value = "v", .value_len = 1 };
	cloud_event_headers(&event, id, 0, "waymark.redirect-batch.v1",
	                    "urn:waymark:proto:waymark.v1.RedirectBatch", "/waymark/redirector",
	                    NULL, &record);
	for (size_t i = 0; i < record.header_count; i++)
		assert_string_not_equal(record.headers[i].name, "ce_subject");
	assert_int_equal(record.header_count, 7);
}

TEST_CASE(names_no_schema_for_a_record_without_a_value)
{
	static const uint8_t id[ENTROPY_UUID_SIZE] = { 1 };
	struct cloud_event event;
	struct kafka_record tombstone = { .topic = "t" };
	cloud_event_headers(&event, id, 0, "waymark.link.v1",
	                    "urn:waymark:proto:waymark.v1.LinkEvent", "/waymark/links-api", "abc",
	                    &tombstone);
	for (size_t i = 0; i < tombstone.header_count; i++)
		assert_string_not_equal(tombstone.headers[i].name, "ce_dataschema");
}

TEST_MAIN()
