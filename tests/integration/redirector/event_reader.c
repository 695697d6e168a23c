#include "tests/integration/redirector/event_reader.h"

#include <stdint.h>
#include <string.h>

#include "lib/clicks/redirect_batch.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

#define TIMEOUT_MS (2 * TEST_DEADLINE_MS)

static bool is_wanted(const struct event_reader *reader, const struct event_read *events,
                      size_t index)
{
	const struct redirect_event *event = &events[index].event;
	if (reader->slug && strcmp(event->slug, reader->slug) != 0)
		return false;
	for (size_t i = index; i > 0; i--)
		if (memcmp(events[i - 1].event.event_id, event->event_id, ENTROPY_UUID_SIZE) == 0)
			return false;
	return true;
}

/* Returns how many events are found then. */
static size_t take(const struct event_reader *reader, const struct kafka_message *message,
                   size_t number, struct event_read *events, size_t found, size_t count)
{
	struct redirect_batch batch;
	char reason[REDIRECT_EVENT_REASON_SIZE];
	const void *bytes;
	size_t len;
	assert_int_equal(redirect_batch_open(message->value, message->value_len, &batch, reason),
	                 OK);
	while (found < count && redirect_batch_next(&batch, &bytes, &len)) {
		struct event_read *read = &events[found];
		assert_int_equal(redirect_event_decode(bytes, len, &read->event, reason), OK);
		memcpy(read->instance, batch.instance, sizeof(read->instance));
		read->sequence = batch.sequence;
		read->partition = message->partition;
		read->batch = number;
		found += is_wanted(reader, events, found);
	}
	return found;
}

void event_reader_read(const struct event_reader *reader, struct event_read *events, size_t count)
{
	struct kafka_consumer_config config = {
		.kafka = reader->kafka,
		.group = reader->slug ? reader->slug : reader->topic,
		.topic = reader->topic,
		.session_timeout_ms = 30000,
		.events = kafka_fixture_from_the_beginning,
		.log = reader->log,
	};
	struct kafka_consumer *consumer = NULL;
	assert_int_equal(kafka_consumer_new(&config, &consumer), OK);
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	size_t found = 0, batches = 0;
	while (found < count) {
		struct kafka_message message;
		assert_true(backend_fixture_now_ms() < until_ms);
		if (kafka_consumer_poll(consumer, 100, &message) == OK)
			found = take(reader, &message, ++batches, events, found, count);
	}
	kafka_consumer_free(consumer);
}
