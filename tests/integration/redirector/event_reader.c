#include "tests/integration/redirector/event_reader.h"

#include <stdint.h>
#include <string.h>

#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

void event_reader_read(struct fixture *f, const char *name, struct redirect_event *events,
                       size_t count)
{
	char slug[SLUG_SIZE];
	fixture_slug(f, name, slug);
	struct kafka_consumer_config config = {
		.kafka = &f->config.kafka,
		.group = slug,
		.topic = REDIRECT_EVENT_TOPIC,
		.session_timeout_ms = 30000,
		.events = kafka_fixture_from_the_beginning,
		.log = f->log,
	};
	struct kafka_consumer *consumer = NULL;
	assert_int_equal(kafka_consumer_new(&config, &consumer), OK);
	int64_t began_ms = http_fixture_now_ms();
	size_t found = 0;
	while (found < count) {
		struct kafka_message message;
		char reason[REDIRECT_EVENT_REASON_SIZE];
		assert_true(http_fixture_now_ms() - began_ms < 2 * FIXTURE_TIMEOUT_MS);
		if (kafka_consumer_poll(consumer, 100, &message) != OK ||
		    message.key_len != strlen(slug) ||
		    memcmp(message.key, slug, message.key_len) != 0)
			continue;
		assert_int_equal(redirect_event_decode(message.value, message.value_len,
		                                       &events[found++], reason),
		                 OK);
	}
	kafka_consumer_free(consumer);
}
