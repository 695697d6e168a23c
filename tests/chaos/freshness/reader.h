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
	/* Its number in the history, from 1. */
	uint16_t redirector;
	/* Path of the history. */
	const char *log;
	size_t visitors;
	/* Requests a second at most; 0 = no limit. */
	double rate;
	/* Not 0. */
	uint64_t seed;
	const struct link_pool *pool;
	/* While true no request is sent. */
	const _Atomic bool *is_paused;
	const _Atomic bool *is_over;
};

struct reader;

/* Starts the thread and copies config. Returns NULL if the log cannot be written. */
struct reader *reader_new(const struct reader_config *config);
/* Waits for the thread: is_over must be true. Returns the number of requests. */
uint64_t reader_free(struct reader *reader);

#endif
