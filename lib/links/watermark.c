#include "lib/links/watermark.h"

#include <stdbool.h>

#include "lib/protobuf/protobuf.h"
#include "waymark/v1/watermark.pb-c.h"

size_t watermark_encode(const struct watermark *watermark, uint8_t out[static WATERMARK_BYTES_MAX])
{
	Waymark__V1__LinkPartitionEnd ends[WATERMARK_PARTITIONS_MAX];
	Waymark__V1__LinkPartitionEnd *list[WATERMARK_PARTITIONS_MAX];
	for (int32_t p = 0; p < watermark->partitions; p++) {
		waymark__v1__link_partition_end__init(&ends[p]);
		ends[p].end = watermark->partition[p].end;
		ends[p].lowest_end = watermark->partition[p].lowest_end;
		list[p] = &ends[p];
	}
	Waymark__V1__LinkWatermark message = WAYMARK__V1__LINK_WATERMARK__INIT;
	message.as_of_us = watermark->as_of_us;
	message.generation = watermark->generation;
	message.version_base = watermark->version_base;
	message.partitions = list;
	message.n_partitions = (size_t)watermark->partitions;
	return waymark__v1__link_watermark__pack(&message, out);
}

static bool decode_partitions(const Waymark__V1__LinkWatermark *from, struct watermark *out)
{
	if (from->n_partitions == 0 || from->n_partitions > WATERMARK_PARTITIONS_MAX)
		return false;
	for (size_t p = 0; p < from->n_partitions; p++) {
		const Waymark__V1__LinkPartitionEnd *ends = from->partitions[p];
		if (ends->lowest_end < 0 || ends->end < ends->lowest_end)
			return false;
		out->partition[p] = (struct watermark_partition){ ends->end, ends->lowest_end };
	}
	out->partitions = (int32_t)from->n_partitions;
	return true;
}

enum err watermark_decode(const void *bytes, size_t len, struct watermark *out)
{
	if (!bytes || len > WATERMARK_BYTES_MAX)
		return ERR_INVALID;
	const char *problem;
	Waymark__V1__LinkWatermark *message =
		protobuf_unpack(&waymark__v1__link_watermark__descriptor, bytes, len, &problem);
	if (!message)
		return ERR_INVALID;
	struct watermark watermark = { .as_of_us = message->as_of_us,
		                       .generation = message->generation,
		                       .version_base = message->version_base };
	bool is_valid = message->as_of_us > 0 && message->generation >= 0 &&
	                message->version_base >= 0 && decode_partitions(message, &watermark);
	protobuf_free(message);
	if (!is_valid)
		return ERR_INVALID;
	*out = watermark;
	return OK;
}
