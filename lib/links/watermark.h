/*
 * Watermarks: how current the topic of link events is. links-api writes them to a topic of their
 * own (proto/waymark/v1/watermark.proto), so that subscribers of links see links only.
 *
 * A watermark says that every change committed before as_of stands below the ends of the
 * partitions. A reader has all these changes once its position has reached each end.
 *
 * A watermark stays true forever, whichever instance sent it. Readers use the largest one. Only a
 * topic that is created again makes it void; readers detect that by lowest_end.
 *
 * Pure.
 */
#ifndef WAYMARK_LIB_LINKS_WATERMARK_H
#define WAYMARK_LIB_LINKS_WATERMARK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define WATERMARK_TOPIC "waymark.link-watermarks.v1"
/* A topic of link events with more partitions has no watermarks. */
#define WATERMARK_PARTITIONS_MAX 256
#define WATERMARK_BYTES_MAX (64 + 32 * WATERMARK_PARTITIONS_MAX)

struct watermark_partition {
	/* The offset after the last record. */
	int64_t end;
	/* Since the last watermark that Kafka acknowledged. */
	int64_t lowest_end;
};

struct watermark {
	/* By the clock of PostgreSQL. */
	int64_t as_of_us;
	/* Of the content of Redis. */
	int64_t generation;
	int32_t partitions;
	/* Versions up to it are of earlier epochs and may be lost. */
	int64_t version_base;
	struct watermark_partition partition[WATERMARK_PARTITIONS_MAX];
};

/* Returns the number of bytes. */
size_t watermark_encode(const struct watermark *watermark, uint8_t out[static WATERMARK_BYTES_MAX]);

/* ERR_INVALID: not a watermark, or an incomplete one. */
enum err watermark_decode(const void *bytes, size_t len, struct watermark *out) MUST_CHECK;

#endif
