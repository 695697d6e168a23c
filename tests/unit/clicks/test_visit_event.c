#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/clicks/visit_event.h"
#include "tests/support/test.h"
#include "waymark/v1/visit_event.pb-c.h"

static struct visit_event *event_with(void (*change)(struct visit_event *event))
{
	struct visit_event *event = mem_zero(sizeof(*event));
	entropy_uuid7(1700000000000000, event->event_id);
	event->occurred_at_us = 1700000000123456;
	event->link_id = 42;
	memcpy(event->slug, "abc", 4);
	if (change)
		change(event);
	return event;
}

static enum err decode_again(const struct visit_event *event, struct visit_event *out)
{
	struct strbuf bytes;
	strbuf_init(&bytes, VISIT_EVENT_BYTES_MAX);
	visit_event_encode(event, &bytes);
	assert_int_equal(strbuf_status(&bytes), OK);
	enum err err = visit_event_decode(bytes.data, bytes.len, out);
	strbuf_clear(&bytes);
	return err;
}

/* A different letter for each field, so that swapped fields are noticed. */
static void fill(char *text, size_t size, char letter)
{
	memset(text, letter, size - 1);
}

static void fill_all(struct visit_event *event)
{
	fill(event->slug, sizeof(event->slug), 'a');
	fill(event->country, sizeof(event->country), 'b');
	fill(event->region, sizeof(event->region), 'c');
	fill(event->city, sizeof(event->city), 'd');
	fill(event->browser, sizeof(event->browser), 'e');
	fill(event->browser_version, sizeof(event->browser_version), 'f');
	fill(event->os, sizeof(event->os), 'g');
	fill(event->os_version, sizeof(event->os_version), 'h');
	fill(event->device, sizeof(event->device), 'i');
	fill(event->language, sizeof(event->language), 'j');
	fill(event->referrer_host, sizeof(event->referrer_host), 'k');
	fill(event->referrer_source, sizeof(event->referrer_source), 'l');
	fill(event->utm_source, sizeof(event->utm_source), 'm');
	fill(event->utm_medium, sizeof(event->utm_medium), 'n');
	fill(event->utm_campaign, sizeof(event->utm_campaign), 'o');
	fill(event->bot_reason, sizeof(event->bot_reason), 'p');
	event->link_id = INT64_MAX;
	event->is_bot = event->is_unique = true;
	event->status = 308;
	event->latency_us = INT32_MAX;
	fill(event->destination_host, sizeof(event->destination_host), 'q');
	event->workspace_id = INT64_MAX - 1;
	fill(event->rule, sizeof(event->rule), 'r');
	fill(event->variant, sizeof(event->variant), 's');
	fill(event->alias, sizeof(event->alias), 't');
	memcpy(event->scan, VISIT_EVENT_SCAN, sizeof(event->scan));
}

TEST_CASE(decodes_what_it_encoded)
{
	void (*const changes[])(struct visit_event *) = { NULL, fill_all };
	for (size_t i = 0; i < 2; i++) {
		struct visit_event *event = event_with(changes[i]);
		struct visit_event *back = mem_zero(sizeof(*back));
		assert_int_equal(decode_again(event, back), OK);
		assert_memory_equal(back, event, sizeof(*event));
		free(back);
		free(event);
	}
}

TEST_CASE(encodes_each_tag)
{
	struct visit_event *event = event_with(NULL);
	event->tags = "spring\x1fn\xc3\xa4her";
	struct strbuf bytes;
	strbuf_init(&bytes, VISIT_EVENT_BYTES_MAX);
	visit_event_encode(event, &bytes);
	Waymark__V1__VisitEvent *message =
		waymark__v1__visit_event__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
	assert_non_null(message);
	assert_int_equal(message->n_tags, 2);
	assert_string_equal(message->tags[0], "spring");
	assert_string_equal(message->tags[1], "n\xc3\xa4her");
	waymark__v1__visit_event__free_unpacked(message, NULL);
	strbuf_clear(&bytes);
	free(event);
}

static void remove_the_link(struct visit_event *event)
{
	event->link_id = 0;
}

static void remove_the_time(struct visit_event *event)
{
	event->occurred_at_us = 0;
}

static void remove_the_slug(struct visit_event *event)
{
	event->slug[0] = '\0';
}

static void corrupt_the_browser(struct visit_event *event)
{
	memcpy(event->browser, "\xff", 2);
}

TEST_CASE(refuses_an_invalid_visit)
{
	void (*const changes[])(struct visit_event *) = { remove_the_link, remove_the_time,
		                                          remove_the_slug, corrupt_the_browser };
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct visit_event *event = event_with(changes[i]);
		struct visit_event *back = mem_zero(sizeof(*back));
		assert_int_equal(decode_again(event, back), ERR_INVALID);
		free(back);
		free(event);
	}
	struct visit_event out;
	assert_int_equal(visit_event_decode("", 0, &out), ERR_INVALID);
	assert_int_equal(visit_event_decode("\x08", 1, &out), ERR_INVALID);
}

TEST_MAIN()
