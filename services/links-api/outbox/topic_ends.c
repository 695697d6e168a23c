#include "services/links-api/outbox/topic_ends.h"

#include <string.h>

void topic_ends_reset(struct topic_ends *ends)
{
	ends->are_known = false;
	ends->partitions = 0;
}

static void lower(int64_t *lowest, int64_t end)
{
	if (end < *lowest)
		*lowest = end;
}

void topic_ends_set(struct topic_ends *ends, const int64_t *queried, int32_t partitions)
{
	for (int32_t p = 0; p < partitions; p++) {
		struct watermark_partition *partition = &ends->partition[p];
		if (p >= ends->partitions)
			partition->lowest_end = ends->lowest_sent[p] = queried[p];
		lower(&partition->lowest_end, queried[p]);
		partition->end = queried[p];
	}
	ends->partitions = partitions;
	ends->are_known = true;
}

void topic_ends_add(struct topic_ends *ends, int32_t partition, int64_t offset)
{
	if (partition < 0 || partition >= ends->partitions || offset < 0) {
		ends->are_known = false;
		return;
	}
	struct watermark_partition *known = &ends->partition[partition];
	if (offset < known->end)
		ends->are_known = false;
	lower(&known->lowest_end, offset);
	known->end = offset + 1;
}

void topic_ends_take(struct topic_ends *ends, struct watermark *out)
{
	size_t size = (size_t)ends->partitions * sizeof(ends->partition[0]);
	memcpy(out->partition, ends->partition, size);
	out->partitions = ends->partitions;
	for (int32_t p = 0; p < ends->partitions; p++) {
		ends->lowest_sent[p] = ends->partition[p].lowest_end;
		ends->partition[p].lowest_end = ends->partition[p].end;
	}
}

void topic_ends_restore(struct topic_ends *ends)
{
	for (int32_t p = 0; p < ends->partitions; p++)
		lower(&ends->partition[p].lowest_end, ends->lowest_sent[p]);
}
