/*
 * The versions of every link, derived from the editors' records. Version n is current from the
 * beginning of the change that made it, since it may be visible before the acknowledgement, until
 * the acknowledgement of the change that made version n + 1. Version 0 means that the link does not
 * exist. One thread at a time.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_TIMELINE_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_TIMELINE_H

#include "tests/chaos/freshness/history.h"

struct timeline;

enum timeline_shown {
	TIMELINE_NOTHING, /* 404: not made yet, disabled or deleted */
	/* A redirect to the destination, or the page that asks for a password; 410 from expires_us on. */
	TIMELINE_LINK,
};

struct timeline_version {
	/* Of the change. */
	int64_t begin_us;
	/* Of its acknowledgement; HISTORY_NEVER_US: it may or may not have been made. */
	int64_t end_us;
	/* 0 = never. */
	int64_t expires_us;
	uint32_t destination;
	/* Place of its change among those of its link. */
	uint32_t change;
	enum timeline_shown shown;
	bool is_locked;
	/* What readers saw. */
	/* How long after its acknowledgement an older version was still shown. */
	int64_t unseen_us;
	/* A reader requested the link after its acknowledgement. */
	bool was_read;
};

struct timeline_link {
	/* The first is version 0. */
	struct timeline_version *versions;
	size_t count;
	char slug[HISTORY_SLUG_SIZE];
};

struct timeline *timeline_new(void);
void timeline_free(struct timeline *timeline);

/* Adds a change. Those of one link come in the order of begin_us. A history_change_seen. */
void timeline_add(void *timeline, const struct history_change *change);

/*
 * Call after the last change. An unknown change counts as made if a LOOK showed it, and as
 * acknowledged when that LOOK ended. It counts as not made if a later change was acknowledged
 * without it. Otherwise it may be made at any time. Of several unknown changes in a row at most one
 * is ever made.
 */
void timeline_settle(struct timeline *timeline);

/* A link without changes has version 0 alone. Needs a settled timeline. */
struct timeline_link *timeline_link(struct timeline *timeline, uint32_t link);
size_t timeline_links(const struct timeline *timeline);

#endif
