#include "lib/kafka/cloud_event.h"

#include <assert.h>

#include "lib/base/array.h"

void cloud_event_headers(struct cloud_event *event,
                         const uint8_t event_id[static ENTROPY_UUID_SIZE], int64_t time_us,
                         const char *type, const char *schema, const char *source,
                         const char *subject, struct kafka_record *record)
{
	entropy_uuid_format(event_id, event->id);
	timestamp_format_us(time_us, event->time);
	const struct kafka_header headers[] = {
		{ "ce_specversion", "1.0" }, { "ce_id", event->id },
		{ "ce_type", type },         { "ce_source", source },
		{ "ce_time", event->time },  { "content-type", CLOUD_EVENT_PROTOBUF },
	};
	static_assert(ARRAY_SIZE(headers) + 2 <= KAFKA_HEADERS_MAX, "the headers fit");
	memcpy(record->headers, headers, sizeof(headers));
	record->header_count = ARRAY_SIZE(headers);
	if (subject)
		record->headers[record->header_count++] =
			(struct kafka_header){ "ce_subject", subject };
	if (record->value)
		record->headers[record->header_count++] =
			(struct kafka_header){ "ce_dataschema", schema };
}
