#include "lib/kafka/kafka_message.h"

#include <librdkafka/rdkafka.h>
#include <string.h>

/* Enough for an event's id, which is its first field. */
#define FINGERPRINT_BYTES_MAX 64

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

/* FNV-1a */
static uint64_t mix_byte(uint64_t hash, uint8_t byte)
{
	return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	for (size_t i = 0; i < len && i < FINGERPRINT_BYTES_MAX; i++)
		hash = mix_byte(hash, at[i]);
	return hash;
}

static uint64_t mix_number(uint64_t hash, int64_t number)
{
	for (unsigned shift = 0; shift < 64; shift += 8)
		hash = mix_byte(hash, (uint8_t)((uint64_t)number >> shift));
	return hash;
}

int64_t kafka_message_fingerprint(const struct kafka_message *m)
{
	uint64_t hash = mix_number(UINT64_C(0xcbf29ce484222325), m->timestamp_ms);
	hash = mix_number(hash, (int64_t)m->key_len);
	hash = mix_number(hash, m->value ? (int64_t)m->value_len : -1);
	hash = mix(hash, m->key, m->key ? m->key_len : 0);
	hash = mix(hash, m->value, m->value ? m->value_len : 0);
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
