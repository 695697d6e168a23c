#include "tests/chaos/freshness/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

struct link_record {
	struct history_change *changes;
	size_t count;
	size_t room;
	struct timeline_link link;
};

struct timeline {
	/* By the link's number. */
	struct link_record *records;
	size_t count;
	struct link_record unknown_link;
};

static void make_version_zero(struct link_record *record)
{
	record->link.versions = mem_array(record->count + 1, sizeof(*record->link.versions));
	record->link.versions[0] =
		(struct timeline_version){ .begin_us = INT64_MIN, .end_us = INT64_MIN };
	record->link.count = 1;
}

struct timeline *timeline_new(void)
{
	struct timeline *timeline = mem_zero(sizeof(*timeline));
	make_version_zero(&timeline->unknown_link);
	return timeline;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->count; i++) {
		free(timeline->records[i].changes);
		free(timeline->records[i].link.versions);
	}
	free(timeline->unknown_link.link.versions);
	free(timeline->records);
	free(timeline);
}

static struct link_record *record_of(struct timeline *timeline, uint32_t link)
{
	if (link >= HISTORY_LINKS_MAX)
		abort();
	if (link >= timeline->count) {
		size_t count = link < 512 ? 1024 : (size_t)link * 2;
		timeline->records =
			mem_resize(timeline->records, count, sizeof(*timeline->records));
		memset(timeline->records + timeline->count, 0,
		       (count - timeline->count) * sizeof(*timeline->records));
		timeline->count = count;
	}
	return &timeline->records[link];
}

void timeline_add(void *ctx, const struct history_change *change)
{
	struct link_record *record = record_of(ctx, change->link);
	if (record->count == record->room) {
		record->room = record->room ? record->room * 2 : 4;
		record->changes =
			mem_resize(record->changes, record->room, sizeof(*record->changes));
	}
	record->changes[record->count++] = *change;
}

/* Returns the version that a change makes of the one before it. */
static struct timeline_version made_by(const struct link_record *record, size_t i,
                                       const struct timeline_version *before)
{
	const struct history_change *change = &record->changes[i];
	struct timeline_version version = {
		.begin_us = change->begin_us,
		.end_us = change->outcome == HISTORY_ACKED ? change->end_us : HISTORY_NEVER_US,
		.expires_us = before->expires_us,
		.destination = before->destination,
		.is_locked = before->is_locked,
		.change = (uint32_t)i,
		.shown = TIMELINE_LINK,
	};
	if (change->act == HISTORY_DELETE) {
		version.shown = TIMELINE_NOTHING;
	} else if (change->act != HISTORY_RESTORE) {
		version.shown = change->act == HISTORY_DISABLE ? TIMELINE_NOTHING : TIMELINE_LINK;
		version.destination = change->destination;
		version.is_locked = change->is_locked;
		version.expires_us = change->expires_us;
	}
	return version;
}

static bool is_shown_by(const struct history_change *unknown, const struct history_change *look)
{
	switch (unknown->act) {
	case HISTORY_DELETE:
		return look->is_deleted;
	case HISTORY_RESTORE:
		return !look->is_deleted;
	default:
		return look->destination == unknown->destination;
	}
}

/*
 * Versions from place settled on are unknown. The one that the LOOK shows was made, and the others
 * never will be.
 */
static size_t take_look(struct link_record *record, size_t settled,
                        const struct history_change *look)
{
	struct timeline_link *link = &record->link;
	for (size_t i = settled; i < link->count; i++) {
		if (!is_shown_by(&record->changes[link->versions[i].change], look))
			continue;
		link->versions[settled] = link->versions[i];
		link->versions[settled].end_us = look->end_us;
		link->count = settled + 1;
		return link->count;
	}
	return settled;
}

static void settle(struct link_record *record)
{
	struct timeline_link *link = &record->link;
	make_version_zero(record);
	size_t settled = 1;
	for (size_t i = 0; i < record->count; i++) {
		const struct history_change *change = &record->changes[i];
		memcpy(link->slug, change->slug, sizeof(link->slug));
		if (change->outcome == HISTORY_REFUSED)
			continue;
		if (change->act == HISTORY_LOOK) {
			settled = take_look(record, settled, change);
			continue;
		}
		if (change->outcome == HISTORY_ACKED)
			link->count = settled;
		link->versions[link->count++] = made_by(record, i, &link->versions[settled - 1]);
		if (change->outcome == HISTORY_ACKED)
			settled = link->count;
	}
}

void timeline_settle(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->count; i++)
		settle(&timeline->records[i]);
}

struct timeline_link *timeline_link(struct timeline *timeline, uint32_t link)
{
	return link < timeline->count ? &timeline->records[link].link
	                              : &timeline->unknown_link.link;
}

size_t timeline_links(const struct timeline *timeline)
{
	return timeline->count;
}
