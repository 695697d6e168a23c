#include "lib/links/feed_mark.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/links/link_event.h"

#define KEY "~"
#define GENERATION "waymark_generation"
#define PARTITIONS "waymark_partitions"

void feed_mark_write(const struct feed_mark *watermark, int32_t partition, const char *source,
                     struct feed_mark_texts *buffers, struct kafka_record *out)
{
	uint8_t id[ENTROPY_UUID_SIZE];
	entropy_uuid7(watermark->as_of_us, id);
	snprintf(buffers->generation, sizeof(buffers->generation), "%lld", (long long)watermark->generation);
	snprintf(buffers->partitions, sizeof(buffers->partitions), "%d", (int)watermark->partitions);
	*out = (struct kafka_record){
		.topic = LINK_EVENT_TOPIC,
		.key = KEY,
		.key_len = strlen(KEY),
		.has_partition = true,
		.partition = partition,
	};
	cloud_event_headers(&buffers->event, id, watermark->as_of_us, FEED_MARK_TYPE, source, KEY, out);
	out->headers[out->header_count++] = (struct kafka_header){ GENERATION, buffers->generation };
	out->headers[out->header_count++] = (struct kafka_header){ PARTITIONS, buffers->partitions };
}

bool feed_mark_is_key(const void *key, size_t len)
{
	return key && len == strlen(KEY) && memcmp(key, KEY, len) == 0;
}

static enum err read_number(const struct kafka_feed *feed, const char *name, int64_t min, int64_t max, int64_t *out)
{
	char text[24];
	enum err err = kafka_feed_header(feed, name, text, sizeof(text));
	return err == OK ? number_parse(text, min, max, out) : err;
}

enum err feed_mark_read(const struct kafka_feed *feed, const struct kafka_message *message, struct feed_mark *out)
{
	char type[sizeof(FEED_MARK_TYPE)];
	char time[TIMESTAMP_TEXT_SIZE];
	int64_t partitions = 0;
	struct feed_mark watermark;
	if (!feed_mark_is_key(message->key, message->key_len) || message->value ||
	    kafka_feed_header(feed, "ce_type", type, sizeof(type)) != OK || strcmp(type, FEED_MARK_TYPE) != 0 ||
	    kafka_feed_header(feed, "ce_time", time, sizeof(time)) != OK ||
	    timestamp_parse(time, &watermark.as_of_us) != OK ||
	    read_number(feed, GENERATION, 0, INT64_MAX, &watermark.generation) != OK ||
	    read_number(feed, PARTITIONS, 1, INT32_MAX, &partitions) != OK)
		return ERR_INVALID;
	watermark.partitions = (int32_t)partitions;
	*out = watermark;
	return OK;
}
