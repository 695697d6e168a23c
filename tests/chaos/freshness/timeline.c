#include "tests/chaos/freshness/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

struct story {
	struct history_change *changes;
	size_t count;
	size_t room;
	struct timeline_link link;
};

struct timeline {
	struct story *stories; /* by the link's number */
	size_t count;
	struct story nobodys;
};

static void make_version_zero(struct story *story)
{
	story->link.versions = mem_array(story->count + 1, sizeof(*story->link.versions));
	story->link.versions[0] = (struct timeline_version){ .begin_us = INT64_MIN, .end_us = INT64_MIN };
	story->link.count = 1;
}

struct timeline *timeline_new(void)
{
	struct timeline *timeline = mem_zero(sizeof(*timeline));
	make_version_zero(&timeline->nobodys);
	return timeline;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->count; i++) {
		free(timeline->stories[i].changes);
		free(timeline->stories[i].link.versions);
	}
	free(timeline->nobodys.link.versions);
	free(timeline->stories);
	free(timeline);
}

static struct story *story_of(struct timeline *timeline, uint32_t link)
{
	if (link >= HISTORY_LINKS_MAX)
		abort();
	if (link >= timeline->count) {
		size_t count = link < 512 ? 1024 : (size_t)link * 2;
		timeline->stories = mem_resize(timeline->stories, count, sizeof(*timeline->stories));
		memset(timeline->stories + timeline->count, 0, (count - timeline->count) * sizeof(*timeline->stories));
		timeline->count = count;
	}
	return &timeline->stories[link];
}

void timeline_add(void *ctx, const struct history_change *change)
{
	struct story *story = story_of(ctx, change->link);
	if (story->count == story->room) {
		story->room = story->room ? story->room * 2 : 4;
		story->changes = mem_resize(story->changes, story->room, sizeof(*story->changes));
	}
	story->changes[story->count++] = *change;
}

/* The version that a change makes of the one before it. */
static struct timeline_version made_by(const struct story *story, size_t i, const struct timeline_version *before)
{
	const struct history_change *change = &story->changes[i];
	struct timeline_version version = {
		.begin_us = change->begin_us,
		.end_us = change->outcome == HISTORY_ACKED ? change->end_us : HISTORY_NEVER_US,
		.expires_us = before->expires_us,
		.destination = before->destination,
		.change = (uint32_t)i,
		.shown = TIMELINE_LINK,
	};
	if (change->act == HISTORY_DELETE) {
		version.shown = TIMELINE_NOTHING;
	} else if (change->act != HISTORY_RESTORE) {
		version.shown = change->act == HISTORY_DISABLE ? TIMELINE_NOTHING : TIMELINE_LINK;
		version.destination = change->destination;
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
 * Of the unknown versions, those from the place settled on, the one that a look shows is done and the others never are.
 */
static size_t take_look(struct story *story, size_t settled, const struct history_change *look)
{
	struct timeline_link *link = &story->link;
	for (size_t i = settled; i < link->count; i++) {
		if (!is_shown_by(&story->changes[link->versions[i].change], look))
			continue;
		link->versions[settled] = link->versions[i];
		link->versions[settled].end_us = look->end_us;
		link->count = settled + 1;
		return link->count;
	}
	return settled;
}

static void settle(struct story *story)
{
	struct timeline_link *link = &story->link;
	make_version_zero(story);
	size_t settled = 1;
	for (size_t i = 0; i < story->count; i++) {
		const struct history_change *change = &story->changes[i];
		memcpy(link->slug, change->slug, sizeof(link->slug));
		if (change->outcome == HISTORY_REFUSED)
			continue;
		if (change->act == HISTORY_LOOK) {
			settled = take_look(story, settled, change);
			continue;
		}
		if (change->outcome == HISTORY_ACKED)
			link->count = settled;
		link->versions[link->count++] = made_by(story, i, &link->versions[settled - 1]);
		if (change->outcome == HISTORY_ACKED)
			settled = link->count;
	}
}

void timeline_settle(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->count; i++)
		settle(&timeline->stories[i]);
}

struct timeline_link *timeline_link(struct timeline *timeline, uint32_t link)
{
	return link < timeline->count ? &timeline->stories[link].link : &timeline->nobodys.link;
}

size_t timeline_links(const struct timeline *timeline)
{
	return timeline->count;
}

const struct history_change *timeline_changes(const struct timeline *timeline, uint32_t link, size_t *count)
{
	const struct story *story = link < timeline->count ? &timeline->stories[link] : &timeline->nobodys;
	*count = story->count;
	return story->changes;
}
