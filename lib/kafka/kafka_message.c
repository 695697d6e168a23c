#include "lib/kafka/kafka_message.h"

#include <endian.h>
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

static size_t head_len(size_t len)
{
	return len < KAFKA_MESSAGE_HEAD_BYTES ? len : KAFKA_MESSAGE_HEAD_BYTES;
}

/* FNV-1a */
static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t mix_number(uint64_t hash, int64_t number)
{
	const uint64_t bytes = htole64((uint64_t)number);
	return mix(hash, &bytes, sizeof(bytes));
}

void kafka_message_copy_head(const struct kafka_message *m, struct kafka_message_head *out)
{
	out->timestamp_ms = m->timestamp_ms;
	out->key_len = m->key_len;
	out->value_len = m->value ? (int64_t)m->value_len : -1;
	if (m->key)
		memcpy(out->key, m->key, head_len(m->key_len));
	if (m->value)
		memcpy(out->value, m->value, head_len(m->value_len));
}

int64_t kafka_message_fingerprint(const struct kafka_message_head *head)
{
	uint64_t hash = mix_number(UINT64_C(0xcbf29ce484222325), head->timestamp_ms);
	hash = mix_number(hash, (int64_t)head->key_len);
	hash = mix_number(hash, head->value_len);
	hash = mix(hash, head->key, head_len(head->key_len));
	if (head->value_len > 0)
		hash = mix(hash, head->value, head_len((size_t)head->value_len));
	return hash == 0 ? 1 : (int64_t)hash;
}

enum err kafka_message_header(const struct rd_kafka_message_s *m, const char *name, char *out,
                              size_t size)
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
