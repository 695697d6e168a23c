/*
 * Records of waymark.redirects.v1, and their events. A decoded event must encode and decode to the
 * same event, and hold nothing that PostgreSQL would reject. A batch must have the events that it
 * says, and read the same when it is written again. What is rejected must have a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/links/slug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_storable(const struct redirect_event *event)
{
	const char *const texts[] = { event->client_network, event->user_agent,
		                      event->referrer,       event->accept_language,
		                      event->host,           event->query,
		                      event->region,         event->destination_host,
		                      event->traceparent };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		require(utf8_is_valid(texts[i], strlen(texts[i])));
	require(slug_is_valid(event->slug, strlen(event->slug)));
	require(event->link_id > 0 && event->link_version > 0 && event->occurred_at_us > 0);
	require(event->latency_us <= INT32_MAX && event->status <= INT16_MAX);
}

/* Equal bytes mean equal events, because every field is encoded. */
static void require_same_again(const struct redirect_event *event)
{
	struct redirect_event again;
	char reason[REDIRECT_EVENT_REASON_SIZE];
	uint8_t bytes[REDIRECT_EVENT_BYTES_MAX], bytes_again[REDIRECT_EVENT_BYTES_MAX];
	size_t len = redirect_event_encode(event, bytes);
	require(redirect_event_decode(bytes, len, &again, reason) == OK);
	require(redirect_event_encode(&again, bytes_again) == len);
	require(memcmp(bytes, bytes_again, len) == 0);
}

static void read_event(const void *bytes, size_t len)
{
	struct redirect_event event;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	if (redirect_event_decode(bytes, len, &event, reason) != OK) {
		require(reason[0] != '\0');
		return;
	}
	require_storable(&event);
	require_same_again(&event);
}

static void require_same_batch(const void *bytes, size_t len, struct redirect_batch batch)
{
	struct redirect_batch again;
	char reason[REDIRECT_EVENT_REASON_SIZE];
	const void *event, *event_again;
	size_t event_len, len_again;
	require(redirect_batch_open(bytes, len, &again, reason) == OK);
	require(again.count == batch.count);
	require(memcmp(again.instance, batch.instance, sizeof(batch.instance)) == 0);
	while (redirect_batch_next(&batch, &event, &event_len)) {
		require(redirect_batch_next(&again, &event_again, &len_again));
		require(again.sequence == batch.sequence && len_again == event_len);
		require(memcmp(event_again, event, event_len) == 0);
	}
}

static void read_batch(const uint8_t *data, size_t size)
{
	struct redirect_batch opened;
	struct redirect_batch_writer writer;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	const void *event;
	size_t len, count = 0;
	if (redirect_batch_open(data, size, &opened, reason) != OK) {
		require(reason[0] != '\0');
		return;
	}
	redirect_batch_init(&writer);
	for (struct redirect_batch batch = opened; redirect_batch_next(&batch, &event, &len);) {
		read_event(event, len);
		redirect_batch_add(&writer, batch.sequence, event, len);
		count++;
	}
	require(count == opened.count && count > 0 && count <= REDIRECT_BATCH_EVENTS_MAX);
	void *written = redirect_batch_end(&writer, opened.instance, &len);
	require_same_batch(written, len, opened);
	redirect_batch_clear(&writer);
	free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_event(data, size);
	read_batch(data, size);
	return 0;
}
