/*
 * One thread at a time. The versions of every link, made of what writers wrote down. Version n is current from the
 * beginning of the change that made it, for it may be seen before it is acknowledged, until the acknowledgement of the
 * change that made version n + 1. Version 0 is that there is no such link.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_TIMELINE_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_TIMELINE_H

#include "tests/chaos/freshness/history.h"

struct timeline;

enum timeline_shown {
	TIMELINE_NOTHING, /* 404: not made yet, disabled, deleted */
	TIMELINE_LINK,    /* a redirect to the destination, 410 from expires_us on */
};

struct timeline_version {
	int64_t begin_us;   /* of the change */
	int64_t end_us;     /* of its acknowledgement; HISTORY_NEVER_US: it may or may not have happened */
	int64_t expires_us; /* 0 = never */
	uint32_t destination;
	uint32_t change; /* that made it: its place in timeline_changes */
	enum timeline_shown shown;
	/* What readers saw of it. */
	int64_t unseen_us;  /* how long after its acknowledgement an older one was still shown; at least 0 */
	bool was_looked_at; /* somebody read the link after its acknowledgement */
};

struct timeline_link {
	struct timeline_version *versions; /* the first is version 0 */
	size_t count;
	char slug[HISTORY_SLUG_SIZE];
};

struct timeline *timeline_new(void);
void timeline_free(struct timeline *timeline);

/* Changes of one link in the order of begin_us. A history_change_seen. */
void timeline_add(void *timeline, const struct history_change *change);

/*
 * After the last change. An unknown one counts as done if a look at the link showed it, acknowledged when that look
 * ended; as not done if a later change was acknowledged without it; else it may have come or may come at any time. Of
 * several unknown ones in a row at most one is ever done.
 */
void timeline_settle(struct timeline *timeline);

/* A link nobody wrote anything about has version 0 alone. Settled timelines only. */
struct timeline_link *timeline_link(struct timeline *timeline, uint32_t link);
size_t timeline_links(const struct timeline *timeline);

/* All changes of a link in their order, for a report. */
const struct history_change *timeline_changes(const struct timeline *timeline, uint32_t link, size_t *count);

#endif
