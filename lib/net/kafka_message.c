#include "lib/net/kafka_message.h"

#include <librdkafka/rdkafka.h>
#include <string.h>

void kafka_message_fill(struct kafka_message *out, const struct rd_kafka_message_s *m)
{
	*out = (struct kafka_message){
		.partition = m->partition,
		.offset = m->offset,
		.timestamp_ms = rd_kafka_message_timestamp(m, NULL),
		.key = m->key,
		.key_len = m->key_len,
		.value = m->payload,
		.value_len = m->len,
		.record = m,
	};
}

enum err kafka_message_header(const struct rd_kafka_message_s *m, const char *name, char *out, size_t size)
{
	rd_kafka_headers_t *headers = NULL;
	const void *value = NULL;
	size_t len = 0;
	if (!m || rd_kafka_message_headers(m, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR ||
	    rd_kafka_header_get_last(headers, name, &value, &len) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return ERR_NOT_FOUND;
	if (len >= size)
		return ERR_LIMIT;
	if (len > 0)
		memcpy(out, value, len);
	out[len] = '\0';
	return OK;
}
