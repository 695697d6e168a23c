/*
 * A log of the chaos tests' visitors: the outcome of each request, against which the tests compare
 * the events in Kafka. The file consists of rows of four u64 in the machine's byte order. One
 * thread at a time.
 *
 *   number       of the request, which is in its query as well
 *   ended_us     CLOCK_MONOTONIC
 *   latency_us   since the request was due
 *   status       0 if there was no answer
 */
#ifndef WAYMARK_TESTS_CHAOS_CLICK_LOG_H
#define WAYMARK_TESTS_CHAOS_CLICK_LOG_H

#include <stdint.h>

struct click_log;

/* Returns NULL if the file cannot be written. */
struct click_log *click_log_new(const char *path);
void click_log_free(struct click_log *log);

void click_log_add(struct click_log *log, uint64_t number, int64_t due_us, int64_t ended_us,
                   unsigned status);

/* Makes the rows visible to readers of the file. */
void click_log_flush(struct click_log *log);

/* Prints a line: answers by class, requests without an answer, p50 and p99 of the answered ones. */
void click_log_print(struct click_log *log);

#endif
