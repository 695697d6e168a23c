/*
 * Records on waymark.redirects.v1. A decoded event must encode and decode to the same event, and
 * hold nothing that PostgreSQL would reject. A rejected one must have a reason.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/clicks/redirect_event.h"
#include "lib/links/slug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_storable(const struct redirect_event *event)
{
	const char *const texts[] = { event->client_network,  event->user_agent, event->referrer,
		                      event->accept_language, event->host,       event->query,
		                      event->region };
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
	struct strbuf bytes, bytes_again;
	strbuf_init(&bytes, REDIRECT_EVENT_BYTES_MAX);
	strbuf_init(&bytes_again, REDIRECT_EVENT_BYTES_MAX);
	redirect_event_encode(event, &bytes);
	require(strbuf_status(&bytes) == OK);
	require(redirect_event_decode(bytes.data, bytes.len, &again, reason) == OK);
	redirect_event_encode(&again, &bytes_again);
	require(bytes.len == bytes_again.len &&
	        memcmp(bytes.data, bytes_again.data, bytes.len) == 0);
	strbuf_clear(&bytes);
	strbuf_clear(&bytes_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct redirect_event event;
	char reason[REDIRECT_EVENT_REASON_SIZE] = "";
	if (redirect_event_decode(data, size, &event, reason) != OK) {
		require(reason[0] != '\0');
		return 0;
	}
	require_storable(&event);
	require_same_again(&event);
	return 0;
}
