/*
 * A thread with visitors of one redirector, which request links at a limited rate or as fast as
 * answers come, and record each answer (history.h).
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_READER_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_READER_H

#include <stdatomic.h>

#include "tests/chaos/freshness/link_pool.h"

struct reader_config {
	uint16_t port;
	uint16_t redirector; /* its number in the history, from 1 */
	const char *log;     /* path of the history */
	size_t visitors;
	double rate;   /* requests a second at most; 0 = no limit */
	uint64_t seed; /* not 0 */
	const struct link_pool *pool;
	const _Atomic bool *is_paused; /* while true no request is sent */
	const _Atomic bool *is_over;
};

struct reader;

/* Starts the thread and copies config. Returns NULL if the log cannot be written. */
struct reader *reader_new(const struct reader_config *config);
/* Waits for the thread: is_over must be true. Returns the number of requests. */
uint64_t reader_free(struct reader *reader);

#endif
