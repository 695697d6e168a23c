/*
 * One thread of its own. Visitors of one redirector who ask for links as fast as they are answered, or as fast as they
 * are allowed to, each answer written down (history.h).
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
	const atomic_bool *is_over;
};

struct reader;

/* Starts. NULL: the log cannot be written. config is copied. */
struct reader *reader_new(const struct reader_config *config);
/* Waits for the end: is_over must be true. Gives how many requests there were. */
uint64_t reader_free(struct reader *reader);

#endif
