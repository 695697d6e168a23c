/*
 * Pure. Progress marks on the topic of link events: "whatever was committed before as_of stands before this in its
 * partition". Sent to every partition, so that who reads all of them knows how far they have seen.
 *
 *   key      "~", which no slug can be; the value is NULL: to every other subscriber the tombstone of a link that never was
 *   headers  those of CloudEvents with ce_type "waymark.v1.LinkFeedProgress" and ce_time = as_of (PostgreSQL's clock);
 *            waymark_generation = the generation of Redis' content; waymark_partitions = how many partitions are marked
 *
 * A mark is true for ever, whoever sent it: readers take the largest.
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

/* Owns the texts that a record's headers point at; must live until the record was sent. */
struct feed_mark_texts {
	struct cloud_event event;
	char generation[24];
	char partitions[24];
};

/* The record for one partition; source: "/waymark/links-api". */
void feed_mark_write(const struct feed_mark *mark, int32_t partition, const char *source, struct feed_mark_texts *texts,
                     struct kafka_record *out);

/* Whether a record can be no link's event, but a mark. */
bool feed_mark_is_key(const void *key, size_t len);

/* Reads the feed's last polled record. ERR_INVALID: no mark, or one that lacks something. */
enum err feed_mark_read(const struct kafka_feed *feed, const struct kafka_message *message,
                        struct feed_mark *out) MUST_CHECK;

#endif
