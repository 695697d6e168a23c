/*
 * A thread that makes and changes links through links-api, one change after the other, and records
 * each (history.h). Only its own editor changes a link. After a change with an unknown outcome the
 * editor looks at the link until the API answers; If-Match prevents that the change is made later.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_EDITOR_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_EDITOR_H

#include <stdatomic.h>

#include "tests/chaos/freshness/link_pool.h"

struct editor_config {
	/* Of links-api. */
	uint16_t port;
	const char *token;
	/* Path of the history. */
	const char *log;
	/* Changes a second at most. */
	double rate;
	/* Not 0. */
	uint64_t seed;
	struct link_pool *pool;
	const _Atomic bool *is_over;
};

struct editor;

/* Starts the thread and copies config. Returns NULL if the log cannot be written. */
struct editor *editor_new(const struct editor_config *config);
/* Waits for the thread: is_over must be true. */
void editor_free(struct editor *editor);

#endif
