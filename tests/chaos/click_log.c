#include "tests/chaos/click_log.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"

struct click_log {
	FILE *file;
	uint64_t *latencies;
	size_t count;
	size_t room;
	/* 0: no answer. */
	uint64_t by_class[10];
};

struct click_log *click_log_new(const char *path)
{
	FILE *file = fopen(path, "wb");
	if (!file)
		return NULL;
	struct click_log *log = mem_zero(sizeof(*log));
	log->file = file;
	log->room = 1024;
	log->latencies = mem_array(log->room, sizeof(*log->latencies));
	return log;
}

void click_log_free(struct click_log *log)
{
	if (!log)
		return;
	fclose(log->file);
	free(log->latencies);
	free(log);
}

static void keep_latency(struct click_log *log, uint64_t latency_us)
{
	if (log->count == log->room) {
		log->room *= 2;
		log->latencies = mem_resize(log->latencies, log->room, sizeof(*log->latencies));
	}
	log->latencies[log->count++] = latency_us;
}

void click_log_add(struct click_log *log, uint64_t number, int64_t due_us, int64_t ended_us,
                   unsigned status)
{
	uint64_t latency_us = (uint64_t)(ended_us - due_us);
	const uint64_t row[] = { number, (uint64_t)ended_us, latency_us, status };
	if (fwrite(row, sizeof(row), 1, log->file) != 1)
		abort(); /* a log with a gap would prove nothing */
	log->by_class[status / 100 % 10]++;
	if (status != 0)
		keep_latency(log, latency_us);
}

void click_log_flush(struct click_log *log)
{
	if (fflush(log->file) != 0)
		abort();
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return left < right ? -1 : left > right;
}

static double percentile_ms(const struct click_log *log, size_t percent)
{
	if (log->count == 0)
		return 0;
	size_t at = (log->count - 1) * percent / 100;
	return (double)log->latencies[at] / 1000;
}

void click_log_print(struct click_log *log)
{
	qsort(log->latencies, log->count, sizeof(*log->latencies), compare);
	printf("2xx %llu, 3xx %llu, 4xx %llu, 5xx %llu, no answer %llu, p50 %.2f ms, p99 %.2f ms\n",
	       (unsigned long long)log->by_class[2], (unsigned long long)log->by_class[3],
	       (unsigned long long)log->by_class[4], (unsigned long long)log->by_class[5],
	       (unsigned long long)log->by_class[0], percentile_ms(log, 50),
	       percentile_ms(log, 99));
}
