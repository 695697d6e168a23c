#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/redirect_event.h"
#include "tests/support/test.h"
#include "waymark/v1/redirect_event.pb-c.h"

static struct redirect_event *small_event(void)
{
	struct redirect_event *event = mem_zero(sizeof(*event));
	entropy_uuid7(1700000000000000, event->event_id);
	event->occurred_at_us = 1700000000123456;
	event->link_id = 42;
	event->link_version = 3;
	event->status = 302;
	event->latency_us = 180;
	event->method = REDIRECT_METHOD_GET;
	memcpy(event->slug, "abc", 4);
	return event;
}

static void fill(char *text, size_t size, char c)
{
	memset(text, c, size - 1);
	text[size - 1] = '\0';
}

static struct redirect_event *large_event(void)
{
	struct redirect_event *event = small_event();
	event->link_id = event->link_version = INT64_MAX;
	event->occurred_at_us = INT64_C(253402300799999999);
	event->latency_us = INT32_MAX;
	event->status = 599;
	event->method = REDIRECT_METHOD_HEAD;
	event->prefetch = true;
	event->has_visitor_hash = true;
	memset(event->visitor_hash, 0xff, sizeof(event->visitor_hash));
	fill(event->slug, sizeof(event->slug), 's');
	fill(event->client_network, sizeof(event->client_network), 'n');
	fill(event->user_agent, sizeof(event->user_agent), 'u');
	fill(event->referrer, sizeof(event->referrer), 'r');
	fill(event->accept_language, sizeof(event->accept_language), 'l');
	fill(event->host, sizeof(event->host), 'h');
	fill(event->query, sizeof(event->query), 'q');
	fill(event->region, sizeof(event->region), 'g');
	fill(event->destination_host, sizeof(event->destination_host), 'd');
	fill(event->traceparent, sizeof(event->traceparent), 't');
	fill(event->rule, sizeof(event->rule), 'e');
	fill(event->variant, sizeof(event->variant), 'v');
	fill(event->alias, sizeof(event->alias), 'a');
	event->is_scan = true;
	return event;
}

static enum err decode_again(const struct redirect_event *event, struct redirect_event *out,
                             char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	size_t len = redirect_event_encode(event, bytes);
	return redirect_event_decode(bytes, len, out, reason);
}

/* The same event for the generated code. Its texts are borrowed. */
static Waymark__V1__RedirectEvent message_of(struct redirect_event *event)
{
	Waymark__V1__RedirectEvent message = WAYMARK__V1__REDIRECT_EVENT__INIT;
	message.event_id = (ProtobufCBinaryData){ sizeof(event->event_id), event->event_id };
	message.occurred_at_us = event->occurred_at_us;
	message.link_id = event->link_id;
	message.link_version = event->link_version;
	message.slug = event->slug;
	message.client_network = event->client_network;
	if (event->has_visitor_hash)
		message.visitor_hash =
			(ProtobufCBinaryData){ sizeof(event->visitor_hash), event->visitor_hash };
	message.user_agent = event->user_agent;
	message.referrer = event->referrer;
	message.accept_language = event->accept_language;
	message.host = event->host;
	message.query = event->query;
	message.status = event->status;
	message.latency_us = event->latency_us;
	message.method = (Waymark__V1__Method)event->method;
	message.prefetch = event->prefetch;
	message.region = event->region;
	message.destination_host = event->destination_host;
	message.traceparent = event->traceparent;
	message.rule = event->rule;
	message.variant = event->variant;
	message.alias = event->alias;
	message.is_scan = event->is_scan;
	return message;
}

static size_t pack(const Waymark__V1__RedirectEvent *message,
                   uint8_t out[static REDIRECT_EVENT_BYTES_MAX])
{
	size_t len = waymark__v1__redirect_event__get_packed_size(message);
	assert_true(len <= REDIRECT_EVENT_BYTES_MAX);
	return waymark__v1__redirect_event__pack(message, out);
}

static void assert_generated_code_reads(struct redirect_event *event)
{
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX], expected[REDIRECT_EVENT_BYTES_MAX];
	const Waymark__V1__RedirectEvent wanted = message_of(event);
	size_t len = redirect_event_encode(event, bytes);
	Waymark__V1__RedirectEvent *read = waymark__v1__redirect_event__unpack(NULL, len, bytes);
	assert_non_null(read);
	assert_int_equal(read->base.n_unknown_fields, 0);
	/* The generated code writes equal messages as equal bytes. */
	size_t expected_len = pack(&wanted, expected);
	assert_int_equal(pack(read, bytes), expected_len);
	assert_memory_equal(bytes, expected, expected_len);
	waymark__v1__redirect_event__free_unpacked(read, NULL);
}

static void assert_generated_code_writes(struct redirect_event *event)
{
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	char reason[REDIRECT_EVENT_REASON_SIZE];
	const Waymark__V1__RedirectEvent message = message_of(event);
	struct redirect_event *read = mem_zero(sizeof(*read));
	size_t len = pack(&message, bytes);
	assert_int_equal(redirect_event_decode(bytes, len, read, reason), OK);
	assert_memory_equal(read, event, sizeof(*event));
	free(read);
}

static void assert_round_trip(struct redirect_event *event)
{
	char reason[REDIRECT_EVENT_REASON_SIZE];
	struct redirect_event *back = mem_zero(sizeof(*back));
	assert_int_equal(decode_again(event, back, reason), OK);
	assert_memory_equal(back, event, sizeof(*event));
	assert_generated_code_reads(event);
	assert_generated_code_writes(event);
	free(back);
	free(event);
}

TEST_CASE(reads_and_writes_what_the_generated_code_does)
{
	assert_round_trip(small_event());
}

TEST_CASE(encodes_the_largest_event)
{
	assert_round_trip(large_event());
}

/* The journal fills in the id of an event that is encoded already. */
TEST_CASE(has_the_id_at_a_fixed_place)
{
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	struct redirect_event *event = small_event();
	redirect_event_encode(event, bytes);
	assert_memory_equal(bytes + REDIRECT_EVENT_ID_AT, event->event_id, sizeof(event->event_id));
	free(event);
}

static void assert_refused(struct redirect_event *event, const char *field)
{
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	struct redirect_event *back = mem_zero(sizeof(*back));
	back->link_id = 77;
	assert_int_equal(decode_again(event, back, reason), ERR_INVALID);
	assert_string_equal(reason, field);
	assert_int_equal(back->link_id, 77);
	free(back);
	free(event);
}

/* Changes one member of a valid event, which must then be refused because of field. */
#define ASSERT_REFUSED_WITH(member, value, field)                                                  \
	do {                                                                                       \
		struct redirect_event *event = small_event();                                      \
		event->member = (value);                                                           \
		assert_refused(event, (field));                                                    \
	} while (0)

TEST_CASE(names_the_invalid_number)
{
	ASSERT_REFUSED_WITH(occurred_at_us, 0, "occurred_at_us");
	ASSERT_REFUSED_WITH(occurred_at_us, -1, "occurred_at_us");
	ASSERT_REFUSED_WITH(occurred_at_us, INT64_C(253402300800000000), "occurred_at_us");
	ASSERT_REFUSED_WITH(link_id, 0, "link_id");
	ASSERT_REFUSED_WITH(link_id, -5, "link_id");
	ASSERT_REFUSED_WITH(link_version, 0, "link_version");
	ASSERT_REFUSED_WITH(status, 0, "status");
	ASSERT_REFUSED_WITH(status, 65536 + 302, "status");
	ASSERT_REFUSED_WITH(method, 0, "method");
	ASSERT_REFUSED_WITH(method, 9, "method");
}

TEST_CASE(names_the_invalid_text)
{
	ASSERT_REFUSED_WITH(slug[0], '\0', "slug");
	ASSERT_REFUSED_WITH(slug[0], '/', "slug");
	ASSERT_REFUSED_WITH(user_agent[0], '\xff', "user_agent");
	ASSERT_REFUSED_WITH(referrer[0], '\xc3', "referrer");
	ASSERT_REFUSED_WITH(accept_language[0], '\x80', "accept_language");
	ASSERT_REFUSED_WITH(host[0], '\xf8', "host");
	ASSERT_REFUSED_WITH(query[0], '\xed', "query");
	ASSERT_REFUSED_WITH(region[0], '\xfe', "region");
	ASSERT_REFUSED_WITH(client_network[0], '\xc0', "client_network");
	ASSERT_REFUSED_WITH(destination_host[0], '\xc1', "destination_host");
	ASSERT_REFUSED_WITH(traceparent[0], '\xf5', "traceparent");
	ASSERT_REFUSED_WITH(rule[0], '\xc0', "rule");
	ASSERT_REFUSED_WITH(variant[0], '\xff', "variant");
	ASSERT_REFUSED_WITH(alias[0], '/', "alias");
}

TEST_CASE(accepts_the_click_of_a_process_that_was_suspended_for_an_hour)
{
	char reason[REDIRECT_EVENT_REASON_SIZE];
	struct redirect_event *event = small_event();
	struct redirect_event *back = mem_zero(sizeof(*back));
	event->latency_us = UINT32_C(3600000000);
	assert_int_equal(decode_again(event, back, reason), OK);
	assert_int_equal(back->latency_us, INT32_MAX);
	free(back);
	free(event);
}

static Waymark__V1__RedirectEvent foreign_event(void)
{
	Waymark__V1__RedirectEvent message = WAYMARK__V1__REDIRECT_EVENT__INIT;
	message.event_id = (ProtobufCBinaryData){ 16, (uint8_t *)"0123456789abcdef" };
	message.occurred_at_us = 1;
	message.link_id = 1;
	message.link_version = 1;
	message.slug = (char *)"abc";
	message.status = 302;
	message.method = WAYMARK__V1__METHOD__METHOD_GET;
	return message;
}

static void assert_message_refused(const Waymark__V1__RedirectEvent *message, const char *field)
{
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	struct redirect_event *out = mem_zero(sizeof(*out));
	size_t len = pack(message, bytes);
	enum err err = redirect_event_decode(bytes, len, out, reason);
	assert_int_equal(err, field ? ERR_INVALID : OK);
	if (field)
		assert_string_equal(reason, field);
	free(out);
}

TEST_CASE(refuses_ids_and_hashes_of_another_length)
{
	Waymark__V1__RedirectEvent message = foreign_event();
	assert_message_refused(&message, NULL);
	message.event_id.len = 15;
	assert_message_refused(&message, "event_id");
	message = foreign_event();
	message.visitor_hash = (ProtobufCBinaryData){ 16, (uint8_t *)"0123456789abcdef" };
	assert_message_refused(&message, "visitor_hash");
}

TEST_CASE(refuses_numbers_that_postgresql_would_refuse)
{
	Waymark__V1__RedirectEvent message = foreign_event();
	message.latency_us = UINT32_C(2147483648);
	assert_message_refused(&message, "latency_us");
}

TEST_CASE(refuses_a_text_longer_than_its_limit)
{
	char text[REDIRECT_EVENT_USER_AGENT_MAX + 2];
	fill(text, sizeof(text), 'a');
	Waymark__V1__RedirectEvent message = foreign_event();
	message.user_agent = text;
	assert_message_refused(&message, "user_agent");
	text[REDIRECT_EVENT_USER_AGENT_MAX] = '\0';
	assert_message_refused(&message, NULL);
	text[REDIRECT_EVENT_NAME_MAX + 1] = '\0';
	message.rule = text;
	assert_message_refused(&message, "rule");
	message.rule = (char *)"";
	message.variant = text;
	assert_message_refused(&message, "variant");
	text[REDIRECT_EVENT_NAME_MAX] = '\0';
	assert_message_refused(&message, NULL);
}

TEST_CASE(refuses_a_nul_inside_a_text)
{
	struct redirect_event *event = small_event();
	memcpy(event->user_agent, "curl/8.0", 9);
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	size_t len = redirect_event_encode(event, bytes);
	char *agent = memmem(bytes, len, "curl/8.0", 8);
	assert_non_null(agent);
	agent[4] = '\0';
	char reason[REDIRECT_EVENT_REASON_SIZE];
	struct redirect_event *out = mem_zero(sizeof(*out));
	assert_int_equal(redirect_event_decode(bytes, len, out, reason), ERR_INVALID);
	assert_string_equal(reason, "user_agent");
	free(out);
	free(event);
}

TEST_CASE(refuses_empty_random_and_oversized_input)
{
	char reason[REDIRECT_EVENT_REASON_SIZE];
	struct redirect_event *out = mem_zero(sizeof(*out));
	assert_int_equal(redirect_event_decode("", 0, out, reason), ERR_INVALID);
	assert_string_equal(reason, "message");
	assert_int_equal(redirect_event_decode("garbage", 7, out, reason), ERR_INVALID);
	assert_string_equal(reason, "message");
	char *large = mem_zero(REDIRECT_EVENT_BYTES_MAX + 1);
	assert_int_equal(redirect_event_decode(large, REDIRECT_EVENT_BYTES_MAX + 1, out, reason),
	                 ERR_INVALID);
	assert_string_equal(reason, "message: 4097 bytes");
	free(large);
	free(out);
}

TEST_CASE(skips_unknown_fields_of_a_newer_sender)
{
	/*
	 * Field 1000 with text, field 1001 with a number, then one of 64 bits and one of 32 bits.
	 */
	static const char newer[] = "\xc2\x3e\x03\xff\x00\xff\xc8\x3e\x05\xd1\x3e"
				    "12345678"
				    "\xdd\x3e"
				    "1234";
	struct redirect_event *event = small_event();
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX];
	size_t len = redirect_event_encode(event, bytes);
	memcpy(bytes + len, newer, sizeof(newer) - 1);
	char reason[REDIRECT_EVENT_REASON_SIZE];
	struct redirect_event *out = mem_zero(sizeof(*out));
	assert_int_equal(redirect_event_decode(bytes, len + sizeof(newer) - 1, out, reason), OK);
	assert_memory_equal(out, event, sizeof(*event));
	free(out);
	free(event);
}

TEST_MAIN()
