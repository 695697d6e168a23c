/*
 * One thread of its own. A writer: makes links and changes them through links-api, one change after the other, each
 * written down (history.h). Each link is changed by its maker alone. A change whose outcome is not known is followed by
 * looks at the link until the API tells, and If-Match keeps it from being done after that.
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
	const atomic_bool *is_over;
};

struct editor;

/* Starts. NULL: the log cannot be written. config is copied. */
struct editor *editor_new(const struct editor_config *config);
/* Waits for the end: is_over must be true. */
void editor_free(struct editor *editor);

#endif
