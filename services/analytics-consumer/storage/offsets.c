#include "services/analytics-consumer/storage/offsets.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

static int by_partition(const void *a, const void *b)
{
	const struct offsets_partition *left = a;
	const struct offsets_partition *right = b;
	return (left->partition > right->partition) - (left->partition < right->partition);
}

void offsets_assign(struct offsets *offsets, const struct offsets_partition *partitions,
                    size_t count)
{
	offsets_clear(offsets);
	offsets->partitions = mem_array(count, sizeof(*partitions));
	offsets->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct offsets_partition *p = &partitions[i];
		offsets->partitions[i] =
			(struct offsets_partition){ .partition = p->partition,
			                            .stored = p->stored,
			                            .fingerprint = p->fingerprint,
			                            .published = p->published,
			                            .is_dated = p->is_dated,
			                            .is_unverified = p->fingerprint != 0,
			                            .halt_reason = p->halt_reason,
			                            .is_halt_recorded = true };
	}
	qsort(offsets->partitions, count, sizeof(*partitions), by_partition);
	offsets_begin_batch(offsets);
}

void offsets_clear(struct offsets *offsets)
{
	free(offsets->partitions);
	*offsets = (struct offsets){ 0 };
}

struct offsets_partition *offsets_find(struct offsets *offsets, int32_t partition)
{
	if (offsets->count == 0)
		return NULL;
	if (offsets->partitions[offsets->last_found].partition == partition)
		return &offsets->partitions[offsets->last_found];
	struct offsets_partition key = { .partition = partition };
	struct offsets_partition *found =
		bsearch(&key, offsets->partitions, offsets->count, sizeof(key), by_partition);
	if (found)
		offsets->last_found = (size_t)(found - offsets->partitions);
	return found;
}

void offsets_extend_unverified(struct offsets_partition *partition, int64_t offset)
{
	if (partition->first < 0)
		partition->first = offset;
	if (offset >= partition->next_stored) {
		partition->next_stored = offset + 1;
		partition->next_fingerprint = 0;
		partition->has_last = false;
	}
	if (offset >= partition->next_published)
		partition->next_published = offset + 1;
}

void offsets_extend(struct offsets_partition *partition, const struct kafka_message *message)
{
	bool is_last = message->offset >= partition->next_stored;
	offsets_extend_unverified(partition, message->offset);
	if (!is_last)
		return;
	partition->has_last = true;
	kafka_message_copy_head(message, &partition->last);
}

int64_t offsets_start_of_unpublished(const struct offsets_partition *partition)
{
	return partition->stored == 0 ? partition->first : partition->published;
}

int64_t offsets_acknowledged(const struct offsets_partition *partition)
{
	return offsets_start_of_unpublished(partition) - partition->unacked;
}

bool offsets_is_counted(const struct offsets_partition *partition, int64_t offset)
{
	return offset < partition->stored;
}

bool offsets_has_advanced(const struct offsets_partition *partition)
{
	return partition->next_stored != partition->stored;
}

bool offsets_any_advanced(const struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++) {
		if (offsets_has_advanced(&offsets->partitions[i]))
			return true;
	}
	return false;
}

static void end_batch(struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++) {
		struct offsets_partition *p = &offsets->partitions[i];
		if (p->has_last)
			p->next_fingerprint = kafka_message_fingerprint(&p->last);
		p->has_last = false;
	}
}

void offsets_mark_stored(struct offsets *offsets)
{
	end_batch(offsets);
	for (size_t i = 0; i < offsets->count; i++) {
		offsets->partitions[i].stored = offsets->partitions[i].next_stored;
		offsets->partitions[i].fingerprint = offsets->partitions[i].next_fingerprint;
	}
}

void offsets_mark_published(struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++)
		offsets->partitions[i].published = offsets->partitions[i].next_published;
}

bool offsets_is_published(const struct offsets_partition *partition)
{
	return partition->published >= partition->stored;
}

void offsets_begin_batch(struct offsets *offsets)
{
	for (size_t i = 0; i < offsets->count; i++) {
		struct offsets_partition *p = &offsets->partitions[i];
		p->first = -1;
		p->next_stored = p->stored;
		p->next_fingerprint = p->fingerprint;
		p->next_published = p->published;
		p->as_of_us = 0;
		p->has_last = false;
	}
}

void offsets_copy(const struct offsets *offsets, struct offsets *out)
{
	size_t count = offsets->count;
	struct offsets_partition *partitions = mem_array(count, sizeof(*partitions));
	if (count > 0)
		memcpy(partitions, offsets->partitions, count * sizeof(*partitions));
	offsets_clear(out);
	*out = (struct offsets){ .count = count, .partitions = partitions };
}

void offsets_set_unacked(struct offsets *batch, const struct offsets *unacked)
{
	for (size_t i = 0; i < unacked->count; i++) {
		const struct offsets_partition *from = &unacked->partitions[i];
		struct offsets_partition *p = offsets_find(batch, from->partition);
		if (!p || from->first < 0)
			continue;
		int64_t count =
			offsets_start_of_unpublished(p) - offsets_start_of_unpublished(from);
		p->unacked = count > 0 ? count : 0;
	}
}

void offsets_hand_over(struct offsets *offsets, struct offsets *batch)
{
	end_batch(offsets);
	offsets_copy(offsets, batch);
	offsets_mark_stored(offsets);
	offsets_mark_published(offsets);
	offsets_begin_batch(offsets);
}

size_t offsets_halted_count(const struct offsets *offsets)
{
	size_t count = 0;
	for (size_t i = 0; i < offsets->count; i++)
		count += offsets->partitions[i].halt_reason != OFFSETS_NOT_HALTED;
	return count;
}

const char *offsets_halt_reason_name(enum offsets_halt_reason reason)
{
	switch (reason) {
	case OFFSETS_HALTED_EARLIER:
		return "halted_earlier";
	case OFFSETS_TOPIC_ENDS_BEFORE:
		return "topic_ends_before";
	case OFFSETS_REMOVED_BY_RETENTION:
		return "removed_by_retention";
	case OFFSETS_ANOTHER_RECORD:
		return "another_record";
	case OFFSETS_NOT_HALTED:
		break;
	}
	return "";
}
