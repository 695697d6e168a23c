#include "lib/links/watermark.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/links/link_event.h"

#define KEY "~"
#define GENERATION "waymark_generation"
#define PARTITIONS "waymark_partitions"
#define VERSION_BASE "waymark_version_base"

void watermark_write(const struct watermark *watermark, int32_t partition, const char *source,
                     struct watermark_buffers *buffers, struct kafka_record *out)
{
	uint8_t id[ENTROPY_UUID_SIZE];
	entropy_uuid7(watermark->as_of_us, id);
	snprintf(buffers->generation, sizeof(buffers->generation), "%lld",
	         (long long)watermark->generation);
	snprintf(buffers->partitions, sizeof(buffers->partitions), "%d",
	         (int)watermark->partitions);
	snprintf(buffers->version_base, sizeof(buffers->version_base), "%lld",
	         (long long)watermark->version_base);
	*out = (struct kafka_record){
		.topic = LINK_EVENT_TOPIC,
		.key = KEY,
		.key_len = strlen(KEY),
		.has_partition = true,
		.partition = partition,
	};
	cloud_event_headers(&buffers->event, id, watermark->as_of_us, WATERMARK_TYPE, NULL, source,
	                    KEY, out);
	out->headers[out->header_count++] =
		(struct kafka_header){ GENERATION, buffers->generation };
	out->headers[out->header_count++] =
		(struct kafka_header){ PARTITIONS, buffers->partitions };
	out->headers[out->header_count++] =
		(struct kafka_header){ VERSION_BASE, buffers->version_base };
}

bool watermark_is_key(const void *key, size_t len)
{
	return key && len == strlen(KEY) && memcmp(key, KEY, len) == 0;
}

static enum err read_number(const struct kafka_topic_reader *feed, const char *name, int64_t min,
                            int64_t max, int64_t *out)
{
	char text[24];
	enum err err = kafka_topic_reader_header(feed, name, text, sizeof(text));
	return err == OK ? number_parse(text, min, max, out) : err;
}

enum err watermark_read(const struct kafka_topic_reader *feed, const struct kafka_message *message,
                        struct watermark *out)
{
	char type[sizeof(WATERMARK_TYPE)];
	char time[TIMESTAMP_TEXT_SIZE];
	int64_t partitions = 0;
	struct watermark watermark;
	if (!watermark_is_key(message->key, message->key_len) || message->value ||
	    kafka_topic_reader_header(feed, "ce_type", type, sizeof(type)) != OK ||
	    strcmp(type, WATERMARK_TYPE) != 0 ||
	    kafka_topic_reader_header(feed, "ce_time", time, sizeof(time)) != OK ||
	    timestamp_parse(time, &watermark.as_of_us) != OK ||
	    read_number(feed, GENERATION, 0, INT64_MAX, &watermark.generation) != OK ||
	    read_number(feed, PARTITIONS, 1, INT32_MAX, &partitions) != OK)
		return ERR_INVALID;
	/* Missing from earlier versions of links-api. */
	if (read_number(feed, VERSION_BASE, 0, INT64_MAX, &watermark.version_base) != OK)
		watermark.version_base = 0;
	watermark.partitions = (int32_t)partitions;
	*out = watermark;
	return OK;
}
