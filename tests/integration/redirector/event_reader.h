/* One thread at a time. For tests: reads the events of redirectors from Kafka. */
#ifndef WAYMARK_TESTS_INTEGRATION_REDIRECTOR_EVENT_READER_H
#define WAYMARK_TESTS_INTEGRATION_REDIRECTOR_EVENT_READER_H

#include <stddef.h>

#include "lib/base/entropy.h"
#include "lib/base/log.h"
#include "lib/clicks/redirect_event.h"
#include "lib/kafka/kafka_config.h"

struct event_read {
	struct redirect_event event;
	/* Of its batch. */
	uint8_t instance[ENTROPY_UUID_SIZE];
	uint64_t sequence;
	int32_t partition;
	/* The number of its batch, from 1. */
	size_t batch;
};

struct event_reader {
	const struct kafka_config *kafka;
	const char *topic;
	/* NULL: of all links. */
	const char *slug;
	const struct log *log;
};

/* Reads the first count events, those of each partition in order. Skips repeated ones. */
void event_reader_read(const struct event_reader *reader, struct event_read *events, size_t count);

#endif
