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
	uint16_t port; /* of links-api */
	const char *token;
	const char *log; /* path of the history */
	double rate;     /* changes a second at most */
	uint64_t seed;   /* not 0 */
	struct link_pool *pool;
	const _Atomic bool *is_over;
};

struct editor;

/* Starts the thread and copies config. Returns NULL if the log cannot be written. */
struct editor *editor_new(const struct editor_config *config);
/* Waits for the thread: is_over must be true. */
void editor_free(struct editor *editor);

#endif
