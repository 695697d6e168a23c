/*
 * Watermarks on the topic of link events. A watermark says that every change committed before as_of
 * is in front of it in its partition. links-api sends one to every partition, so a consumer that
 * reads all partitions knows how current it is.
 *
 *   key      "~", which is not a valid slug. The value is NULL, so other subscribers see the
 *            tombstone of a link that never existed.
 *   headers  CloudEvents headers with ce_type "waymark.v1.LinkWatermark" and
 *            ce_time = as_of (by the clock of PostgreSQL);
 *            waymark_generation = the generation of the content of Redis;
 *            waymark_partitions = the number of partitions that get this watermark;
 *            waymark_version_base = every version that is not above it belongs to an earlier epoch
 *            of the database and may be of a change that was lost
 *
 * A watermark stays true forever, whichever instance sent it. Readers use the largest one.
 *
 * Pure.
 */
#ifndef WAYMARK_LIB_LINKS_WATERMARK_H
#define WAYMARK_LIB_LINKS_WATERMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/kafka/cloud_event.h"
#include "lib/kafka/kafka_producer.h"
#include "lib/kafka/kafka_topic_reader.h"

#define WATERMARK_TYPE "waymark.v1.LinkWatermark"

struct watermark {
	int64_t as_of_us;
	int64_t generation;
	int32_t partitions;
	int64_t version_base;
};

/* Buffers for the header values of a record. Must live until the record has been sent. */
struct watermark_buffers {
	struct cloud_event event;
	char generation[24];
	char partitions[24];
	char version_base[24];
};

/* Builds the record for one partition. source is "/waymark/links-api". */
void watermark_write(const struct watermark *watermark, int32_t partition, const char *source,
                     struct watermark_buffers *buffers, struct kafka_record *out);

/* Whether a record with this key is a watermark and not the event of a link. */
bool watermark_is_key(const void *key, size_t len);

/* Parses the last polled record of the feed. ERR_INVALID: not a watermark, or an incomplete one. */
enum err watermark_read(const struct kafka_topic_reader *feed, const struct kafka_message *message,
                        struct watermark *out) MUST_CHECK;

#endif
