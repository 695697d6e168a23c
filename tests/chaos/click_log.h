/*
 * One thread at a time. What became of each request of the chaos tests' visitors: the books against which the events in
 * Kafka are counted. The file is rows of four u64 in the machine's byte order:
 *
 *   number       of the request, which it carries in its query
 *   ended_us     CLOCK_MONOTONIC
 *   latency_us   since the moment at which it was due
 *   status       0: there was no answer
 */
#ifndef WAYMARK_TESTS_CHAOS_CLICK_LOG_H
#define WAYMARK_TESTS_CHAOS_CLICK_LOG_H

#include <stdint.h>

struct click_log;

/* NULL: the file cannot be written. */
struct click_log *click_log_new(const char *path);
void click_log_free(struct click_log *log);

void click_log_add(struct click_log *log, uint64_t number, int64_t due_us, int64_t ended_us, unsigned status);

/* Lets readers of the file see what was added. */
void click_log_flush(struct click_log *log);

/* One line: answers by class, requests without an answer, p50 and p99 of the answered ones. */
void click_log_print(struct click_log *log);

#endif
