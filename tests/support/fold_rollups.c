/*
 * Folds roll-ups as the janitor does, for tests and benchmarks that have a clock of their own:
 *
 *     fold_rollups PG_URL [BEFORE_S [DELTAS_MAX [STEPS_MAX]]]
 *
 * BEFORE_S: hours that end by then are over, in seconds since 1970; 0 = all. Prints what the steps
 * did, as JSON: times in milliseconds, and the processor time of this program and of its backend in
 * PostgreSQL, which must run on this machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "services/janitor/retention/rollup_fold.h"

#define CONNECT_TIMEOUT_MS 30000

static int64_t argument(int argc, char **argv, int n, int64_t fallback)
{
	int64_t value = n < argc ? strtoll(argv[n], NULL, 10) : 0;
	return value > 0 ? value : fallback;
}

static enum err step(struct pg_conn *conn, struct rollup_fold *fold, int64_t now_us,
                     int64_t deltas_max)
{
	int64_t folded = 0;
	enum err err = pg_conn_begin(conn);
	if (err == OK)
		err = rollup_fold_step(fold, conn, now_us, deltas_max, &folded);
	return err == OK ? pg_conn_commit(conn) : err;
}

/* In milliseconds; 0 if the process is not found. */
static double cpu_of(int64_t pid)
{
	char path[64];
	unsigned long user = 0;
	unsigned long system = 0;
	snprintf(path, sizeof(path), "/proc/%" PRId64 "/stat", pid);
	FILE *stat = fopen(path, "r");
	if (!stat)
		return 0;
	/* The name of the process, in brackets, has blanks. */
	int read = fscanf(stat, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
	                  &user, &system);
	fclose(stat);
	return read == 2 ? (double)(user + system) * 1000 / (double)sysconf(_SC_CLK_TCK) : 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	int64_t now_us = argument(argc, argv, 2, INT64_MAX / 2 / CLOCK_US_PER_S) * CLOCK_US_PER_S;
	int64_t deltas_max = argument(argc, argv, 3, ROLLUP_FOLD_DELTAS_MAX);
	int64_t steps_max = argument(argc, argv, 4, INT64_MAX);
	int64_t steps = 0;
	int64_t longest_us = 0;
	struct rollup_fold fold = { 0 };
	struct log *log = log_new("fold_rollups", LOG_INFO, 2);
	struct pg_conn *conn = NULL;
	enum err err = pg_conn_open(argv[1], "waymark-janitor", CONNECT_TIMEOUT_MS, 0, log, &conn);
	int64_t began_us = clock_steady_us(clock_system());
	for (; err == OK && !fold.is_over && steps < steps_max; steps++) {
		int64_t step_began_us = clock_steady_us(clock_system());
		err = step(conn, &fold, now_us, deltas_max);
		int64_t took_us = clock_steady_us(clock_system()) - step_began_us;
		longest_us = took_us > longest_us ? took_us : longest_us;
	}
	int64_t backend = 0;
	if (err == OK)
		err = pg_conn_query_int(conn, "SELECT pg_backend_pid()", NULL, &backend);
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	printf("{\"steps\": %" PRId64 ", \"deltas\": %" PRId64 ", \"rows\": %" PRId64
	       ", \"entries\": %" PRId64
	       ", \"took_ms\": %.1f, \"longest_ms\": %.1f, \"cpu_ms\": %.1f, "
	       "\"postgres_ms\": %.0f}\n",
	       steps, fold.deltas, fold.rows_written, fold.entries_written,
	       (double)(clock_steady_us(clock_system()) - began_us) / 1000,
	       (double)longest_us / 1000,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
	               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000,
	       cpu_of(backend));
	pg_conn_close(conn);
	log_free(log);
	return err == OK ? 0 : 1;
}
