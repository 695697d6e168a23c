/*
 * Pure. The headers of a record as a CloudEvent (CloudEvents 1.0, Kafka protocol binding, binary
 * mode): ce_specversion, ce_id, ce_type, ce_source, ce_time, content-type: application/protobuf,
 * ce_subject if there is one, and ce_dataschema if the record has a value.
 */
#ifndef WAYMARK_LIB_KAFKA_CLOUD_EVENT_H
#define WAYMARK_LIB_KAFKA_CLOUD_EVENT_H

#include <stdint.h>

#include "lib/base/entropy.h"
#include "lib/base/timestamp.h"
#include "lib/kafka/kafka_producer.h"

#define CLOUD_EVENT_PROTOBUF "application/protobuf"

/* Owns the texts that the record's headers point at. Keep it until kafka_producer_send returns. */
struct cloud_event {
	char id[ENTROPY_UUID_TEXT_SIZE];
	char time[TIMESTAMP_TEXT_SIZE];
};

/*
 * type: "waymark.redirect.v1"; schema: the URI of the value's protobuf message, not sent without a
 * value; source: "/waymark/redirector"; subject: the slug, borrowed, or NULL. Needs record->value
 * and fills record->headers.
 */
void cloud_event_headers(struct cloud_event *event,
                         const uint8_t event_id[static ENTROPY_UUID_SIZE], int64_t time_us,
                         const char *type, const char *schema, const char *source,
                         const char *subject, struct kafka_record *record);

#endif
