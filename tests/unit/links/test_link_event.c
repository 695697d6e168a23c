#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_event.h"
#include "tests/support/test.h"
#include "waymark/v1/link_event.pb-c.h"

static struct link_event *small_event(void)
{
	struct link_event *event = mem_zero(sizeof(*event));
	entropy_uuid7(1700000000000000, event->event_id);
	event->occurred_at_us = 1700000000000001;
	event->change = LINK_CHANGE_CREATED;
	event->link.entry = (struct link_entry){
		.id = 42,
		.version = 1,
		.state = LINK_STATE_ACTIVE,
		.redirect_status = 302,
		.slug = "abc",
		.original_url = "https://example.com/",
	};
	event->link.type = LINK_TYPE_PERMANENT;
	event->link.workspace_id = 7;
	event->link.created_at_us = 1700000000000000;
	event->link.updated_at_us = 1700000000000001;
	return event;
}

static void fill(char *text, const char *unit, size_t times)
{
	size_t len = strlen(unit);
	for (size_t i = 0; i < times; i++)
		memcpy(text + i * len, unit, len + 1);
}

/* Every field at its maximum, in characters of four bytes. */
static struct link_event *large_event(void)
{
	struct link_event *event = small_event();
	struct link *link = &event->link;
	event->change = LINK_CHANGE_PURGED;
	event->occurred_at_us = INT64_MAX;
	link->entry.id = INT64_MAX;
	link->entry.version = INT64_MAX;
	link->entry.starts_at_us = INT64_MAX;
	link->entry.expires_at_us = INT64_MAX;
	link->entry.redirect_status = 308;
	link->entry.state = LINK_STATE_DELETED;
	link->workspace_id = INT64_MAX;
	fill(link->entry.slug, "z", SLUG_LENGTH_MAX);
	fill(link->entry.original_url, "u", LINK_URL_MAX);
	fill(link->entry.expired_url, "e", LINK_URL_MAX);
	link->entry.lacks_extras = link->entry.is_blocked = true;
	fill(link->entry.alias_of, "y", SLUG_LENGTH_MAX);
	fill(link->external_id, "\xf0\x9f\x94\x97", LINK_EXTERNAL_ID_CHARS_MAX);
	fill(link->title, "\xf0\x9f\x94\x97", LINK_TITLE_CHARS_MAX);
	link->tags.count = LINK_TAGS_MAX;
	for (size_t i = 0; i < LINK_TAGS_MAX; i++)
		fill(link->tags.tag[i], "\xf0\x9f\x94\x97", LINK_TAG_CHARS_MAX);
	return event;
}

static enum err decode_again(const struct link_event *event, struct link_event *out)
{
	struct strbuf bytes;
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	assert_int_equal(strbuf_status(&bytes), OK);
	enum err err = link_event_decode(bytes.data, bytes.len, out);
	strbuf_clear(&bytes);
	return err;
}

static void assert_round_trip(struct link_event *event)
{
	struct link_event *back = mem_zero(sizeof(*back));
	assert_int_equal(decode_again(event, back), OK);
	assert_memory_equal(back, event, sizeof(*event));
	free(back);
	free(event);
}

TEST_CASE(decodes_what_it_encoded)
{
	assert_round_trip(small_event());
}

TEST_CASE(encodes_the_largest_link)
{
	assert_round_trip(large_event());
}

/* Neither in the event, nor in what a reader makes of it. */
TEST_CASE(says_that_a_link_has_extras_and_nothing_of_what_they_are)
{
	struct link_event *event = small_event(), *back = mem_zero(sizeof(*back));
	struct link_entry *entry = &event->link.entry;
	struct strbuf plain, bytes;
	strbuf_init(&plain, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &plain);
	entry->extras_len = LINK_EXTRAS_BYTES_MAX;
	memset(entry->extras, 0xe7, LINK_EXTRAS_BYTES_MAX);
	event->link.features = 63;
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	/* The number of the field, and true. */
	assert_int_equal(bytes.len, plain.len + 3);
	assert_null(memmem(bytes.data, bytes.len, entry->extras, 4));
	assert_int_equal(link_event_decode(bytes.data, bytes.len, back), OK);
	assert_true(back->link.entry.lacks_extras);
	assert_int_equal(back->link.entry.extras_len, 0);
	strbuf_clear(&plain);
	strbuf_clear(&bytes);
	free(back);
	free(event);
}

static void assert_refused(struct link_event *event)
{
	struct link_event *back = mem_zero(sizeof(*back));
	back->occurred_at_us = 77;
	assert_int_equal(decode_again(event, back), ERR_INVALID);
	assert_int_equal(back->occurred_at_us, 77);
	free(back);
	free(event);
}

/* Changes one member of a valid event, which must then be refused. */
#define ASSERT_REFUSED_WITH(member, value)                                                         \
	do {                                                                                       \
		struct link_event *event = small_event();                                          \
		event->member = (value);                                                           \
		assert_refused(event);                                                             \
	} while (0)

TEST_CASE(refuses_invalid_numbers)
{
	ASSERT_REFUSED_WITH(link.entry.id, 0);
	ASSERT_REFUSED_WITH(link.entry.id, -1);
	ASSERT_REFUSED_WITH(link.entry.version, 0);
	ASSERT_REFUSED_WITH(link.entry.expires_at_us, -1);
	ASSERT_REFUSED_WITH(link.entry.redirect_status, 200);
	ASSERT_REFUSED_WITH(link.entry.state, 0);
	ASSERT_REFUSED_WITH(link.entry.state, 5);
	ASSERT_REFUSED_WITH(link.type, 0);
	ASSERT_REFUSED_WITH(link.type, 3);
	ASSERT_REFUSED_WITH(link.workspace_id, -1);
	ASSERT_REFUSED_WITH(link.created_at_us, 0);
	ASSERT_REFUSED_WITH(occurred_at_us, 0);
	ASSERT_REFUSED_WITH(change, 0);
}

TEST_CASE(refuses_invalid_texts)
{
	ASSERT_REFUSED_WITH(link.entry.slug[0], '\0');
	ASSERT_REFUSED_WITH(link.entry.slug[1], '/');
	ASSERT_REFUSED_WITH(link.entry.alias_of[0], '/');
	ASSERT_REFUSED_WITH(link.external_id[0], '\xc3');
	ASSERT_REFUSED_WITH(link.entry.original_url[0], '\0');
	ASSERT_REFUSED_WITH(link.entry.original_url[5], '\xff');
	ASSERT_REFUSED_WITH(link.title[0], '\xc3');
	struct link_event *event = small_event();
	event->link.tags.count = 1;
	assert_refused(event);
	event = small_event();
	fill(event->link.external_id, "a", LINK_EXTERNAL_ID_CHARS_MAX + 1);
	assert_refused(event);
	event = small_event();
	fill(event->link.title, "a", LINK_TITLE_CHARS_MAX + 1);
	assert_refused(event);
	event = small_event();
	event->link.tags.count = 1;
	fill(event->link.tags.tag[0], "a", LINK_TAG_CHARS_MAX + 1);
	assert_refused(event);
}

/* Packs a message as a sender in another language might. */
static enum err decode_message(Waymark__V1__LinkEvent *message, struct link_event *out)
{
	static const uint8_t event_id[ENTROPY_UUID_SIZE];
	uint8_t bytes[2 * LINK_EVENT_BYTES_MAX];
	if (!message->event_id.data)
		message->event_id = (ProtobufCBinaryData){ sizeof(event_id), (uint8_t *)event_id };
	assert_true(waymark__v1__link_event__get_packed_size(message) <= sizeof(bytes));
	return link_event_decode(bytes, waymark__v1__link_event__pack(message, bytes), out);
}

static Waymark__V1__Link foreign_link(void)
{
	Waymark__V1__Link link = WAYMARK__V1__LINK__INIT;
	link.id = 1;
	link.version = 1;
	link.slug = (char *)"abc";
	link.state = WAYMARK__V1__LINK_STATE__LINK_STATE_ACTIVE;
	link.link_type = WAYMARK__V1__LINK_TYPE__LINK_TYPE_PERMANENT;
	link.redirect_status = 302;
	link.original_url = (char *)"https://example.com/";
	link.created_at_us = link.updated_at_us = 1;
	return link;
}

TEST_CASE(decodes_an_unknown_change_of_a_newer_sender_as_an_update)
{
	struct link_event *out = mem_zero(sizeof(*out));
	Waymark__V1__Link link = foreign_link();
	Waymark__V1__LinkEvent message = WAYMARK__V1__LINK_EVENT__INIT;
	message.occurred_at_us = 1;
	message.change = (Waymark__V1__LinkChange)(LINK_CHANGE_REPUBLISHED + 1);
	message.link = &link;
	assert_int_equal(decode_message(&message, out), OK);
	assert_int_equal(out->change, LINK_CHANGE_UPDATED);
	free(out);
}

TEST_CASE(refuses_an_event_without_a_link_or_id)
{
	struct link_event *out = mem_zero(sizeof(*out));
	Waymark__V1__Link link = foreign_link();
	Waymark__V1__LinkEvent message = WAYMARK__V1__LINK_EVENT__INIT;
	message.occurred_at_us = 1;
	message.change = WAYMARK__V1__LINK_CHANGE__LINK_CHANGE_CREATED;
	assert_int_equal(decode_message(&message, out), ERR_INVALID);
	message.link = &link;
	assert_int_equal(decode_message(&message, out), OK);
	message.event_id = (ProtobufCBinaryData){ 3, (uint8_t *)"abc" };
	assert_int_equal(decode_message(&message, out), ERR_INVALID);
	free(out);
}

TEST_CASE(refuses_too_many_tags_and_too_long_urls)
{
	struct link_event *out = mem_zero(sizeof(*out));
	char long_url[LINK_URL_MAX + 2] = "";
	fill(long_url, "u", LINK_URL_MAX + 1);
	char *tags[LINK_TAGS_MAX + 1];
	for (size_t i = 0; i <= LINK_TAGS_MAX; i++)
		tags[i] = (char *)"tag";
	Waymark__V1__Link link = foreign_link();
	Waymark__V1__LinkEvent message = WAYMARK__V1__LINK_EVENT__INIT;
	message.occurred_at_us = 1;
	message.change = WAYMARK__V1__LINK_CHANGE__LINK_CHANGE_CREATED;
	message.link = &link;
	link.tags = tags;
	link.n_tags = LINK_TAGS_MAX;
	assert_int_equal(decode_message(&message, out), OK);
	link.n_tags++;
	assert_int_equal(decode_message(&message, out), ERR_INVALID);
	link = foreign_link();
	link.expired_url = long_url;
	assert_int_equal(decode_message(&message, out), ERR_INVALID);
	free(out);
}

TEST_CASE(refuses_a_nul_inside_a_text)
{
	struct link_event *event = small_event();
	struct link_event *out = mem_zero(sizeof(*out));
	struct strbuf bytes;
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	char *url = memmem(bytes.data, bytes.len, "example", 7);
	assert_non_null(url);
	*url = '\0';
	assert_int_equal(link_event_decode(bytes.data, bytes.len, out), ERR_INVALID);
	strbuf_clear(&bytes);
	free(out);
	free(event);
}

TEST_CASE(refuses_empty_random_and_oversized_input)
{
	struct link_event *out = mem_zero(sizeof(*out));
	assert_int_equal(link_event_decode("", 0, out), ERR_INVALID);
	assert_int_equal(link_event_decode("garbage", 7, out), ERR_INVALID);
	char *large = mem_zero(LINK_EVENT_BYTES_MAX + 1);
	assert_int_equal(link_event_decode(large, LINK_EVENT_BYTES_MAX + 1, out), ERR_INVALID);
	free(large);
	free(out);
}

TEST_CASE(refuses_every_prefix_of_an_event)
{
	struct link_event *event = small_event();
	struct link_event *out = mem_zero(sizeof(*out));
	struct strbuf bytes;
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		/* Allocate exactly len bytes, so that AddressSanitizer detects an overread. */
		char *cut = mem_copy(bytes.data, len);
		assert_int_equal(link_event_decode(cut, len, out), ERR_INVALID);
		free(cut);
	}
	strbuf_clear(&bytes);
	free(out);
	free(event);
}

TEST_MAIN()
