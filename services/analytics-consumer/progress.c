#include "services/analytics-consumer/progress.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

static int by_partition(const void *a, const void *b)
{
	const struct progress_partition *left = a;
	const struct progress_partition *right = b;
	return (left->partition > right->partition) - (left->partition < right->partition);
}

void progress_assign(struct progress *progress, const struct progress_partition *partitions, size_t count)
{
	progress_clear(progress);
	progress->partitions = mem_array(count, sizeof(*partitions));
	progress->count = count;
	for (size_t i = 0; i < count; i++) {
		const struct progress_partition *p = &partitions[i];
		progress->partitions[i] = (struct progress_partition){ .partition = p->partition,
			                                               .stored = p->stored,
			                                               .record = p->record,
			                                               .published = p->published,
			                                               .is_unproven = p->record != 0,
			                                               .strand = p->strand,
			                                               .strand_is_told = true };
	}
	qsort(progress->partitions, count, sizeof(*partitions), by_partition);
	progress_forget(progress);
}

void progress_clear(struct progress *progress)
{
	free(progress->partitions);
	*progress = (struct progress){ 0 };
}

struct progress_partition *progress_find(struct progress *progress, int32_t partition)
{
	if (progress->count == 0)
		return NULL;
	struct progress_partition key = { .partition = partition };
	return bsearch(&key, progress->partitions, progress->count, sizeof(key), by_partition);
}

void progress_reach(struct progress_partition *partition, int64_t offset, int64_t record)
{
	if (partition->first < 0)
		partition->first = offset;
	if (offset >= partition->next) {
		partition->next = offset + 1;
		partition->next_record = record;
	}
	if (offset >= partition->reached)
		partition->reached = offset + 1;
}

bool progress_is_counted(const struct progress_partition *partition, int64_t offset)
{
	return offset < partition->stored;
}

bool progress_moves(const struct progress_partition *partition)
{
	return partition->next != partition->stored;
}

bool progress_moves_any(const struct progress *progress)
{
	for (size_t i = 0; i < progress->count; i++) {
		if (progress_moves(&progress->partitions[i]))
			return true;
	}
	return false;
}

void progress_keep(struct progress *progress)
{
	for (size_t i = 0; i < progress->count; i++) {
		progress->partitions[i].stored = progress->partitions[i].next;
		progress->partitions[i].record = progress->partitions[i].next_record;
	}
}

void progress_publish(struct progress *progress)
{
	for (size_t i = 0; i < progress->count; i++)
		progress->partitions[i].published = progress->partitions[i].reached;
}

bool progress_is_published(const struct progress_partition *partition)
{
	return partition->published >= partition->stored;
}

void progress_forget(struct progress *progress)
{
	for (size_t i = 0; i < progress->count; i++) {
		struct progress_partition *p = &progress->partitions[i];
		p->first = -1;
		p->next = p->stored;
		p->next_record = p->record;
		p->reached = p->published;
		p->as_of_us = 0;
	}
}

void progress_hand_over(struct progress *progress, struct progress *batch)
{
	size_t count = progress->count;
	struct progress_partition *partitions = mem_array(count, sizeof(*partitions));
	if (count > 0)
		memcpy(partitions, progress->partitions, count * sizeof(*partitions));
	progress_clear(batch);
	*batch = (struct progress){ .count = count, .partitions = partitions };
	progress_keep(progress);
	progress_publish(progress);
	progress_forget(progress);
}

size_t progress_stranded_count(const struct progress *progress)
{
	size_t count = 0;
	for (size_t i = 0; i < progress->count; i++)
		count += progress->partitions[i].strand != PROGRESS_NOT_STRANDED;
	return count;
}

const char *progress_strand_name(enum progress_strand strand)
{
	switch (strand) {
	case PROGRESS_STRANDED_BEFORE:
		return "stranded_before";
	case PROGRESS_ENDS_BEFORE:
		return "topic_ends_before";
	case PROGRESS_REMOVED:
		return "removed_by_retention";
	case PROGRESS_OTHER_RECORD:
		return "another_record";
	case PROGRESS_NOT_STRANDED:
		break;
	}
	return "";
}
