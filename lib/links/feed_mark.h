/*
 * Watermarks on the topic of link events. A watermark says that every change committed before as_of
 * is in front of it in its partition. links-api sends one to every partition, so a consumer that
 * reads all partitions knows how current it is.
 *
 *   key      "~", which is not a valid slug. The value is NULL, so other subscribers see the
 *            tombstone of a link that never existed.
 *   headers  CloudEvents headers with ce_type "waymark.v1.LinkFeedProgress" and
 *            ce_time = as_of (by the clock of PostgreSQL);
 *            waymark_generation = the generation of the content of Redis;
 *            waymark_partitions = the number of partitions that get this watermark
 *
 * A watermark stays true forever, whichever instance sent it. Readers use the largest one.
 *
 * Pure.
 */
#ifndef WAYMARK_LIB_LINKS_FEED_MARK_H
#define WAYMARK_LIB_LINKS_FEED_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/cloud_event.h"
#include "lib/net/kafka_feed.h"
#include "lib/net/kafka_producer.h"

#define FEED_MARK_TYPE "waymark.v1.LinkFeedProgress"

struct feed_mark {
	int64_t as_of_us;
	int64_t generation;
	int32_t partitions;
};

/* Buffers for the header values of a record. Must live until the record has been sent. */
struct feed_mark_texts {
	struct cloud_event event;
	char generation[24];
	char partitions[24];
};

/* Builds the record for one partition. source is "/waymark/links-api". */
void feed_mark_write(const struct feed_mark *watermark, int32_t partition, const char *source,
                     struct feed_mark_texts *buffers, struct kafka_record *out);

/* Whether a record with this key is a watermark and not the event of a link. */
bool feed_mark_is_key(const void *key, size_t len);

/* Parses the last polled record of the feed. ERR_INVALID: not a watermark, or an incomplete one. */
enum err feed_mark_read(const struct kafka_feed *feed, const struct kafka_message *message,
                        struct feed_mark *out) MUST_CHECK;

#endif
