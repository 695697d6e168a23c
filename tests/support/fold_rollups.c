/*
 * Folds roll-ups as the janitor does, for tests and benchmarks that have a clock of their own:
 *
 *     PG_URL=… fold_rollups [BEFORE_S [DELTAS_MAX [STEPS_MAX]]]
 *
 * BEFORE_S: hours that end by then are over, in seconds since 1970; 0 = all. Prints what the steps
 * did, as JSON: times in milliseconds, and the processor time of this program and of its backend in
 * PostgreSQL, which must run on this machine; longest and most are those of one step.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "services/janitor/retention/rollups.h"

#define CONNECT_TIMEOUT_MS 30000

static int64_t argument(int argc, char **argv, int n, int64_t fallback)
{
	int64_t value = n < argc ? strtoll(argv[n], NULL, 10) : 0;
	return value > 0 ? value : fallback;
}

static enum err step(struct pg_conn *conn, struct rollups_pass *fold, int64_t now_us,
                     int64_t deltas_max)
{
	int64_t folded = 0;
	enum err err = pg_conn_begin(conn);
	if (err == OK)
		err = rollups_fold(fold, conn, now_us, deltas_max, &folded);
	return err == OK ? pg_conn_commit(conn) : err;
}

/* What a process has used, in milliseconds; 0 if it is not found. */
static double cpu_ms_of(int64_t pid)
{
	char path[64];
	unsigned long long ns = 0;
	snprintf(path, sizeof(path), "/proc/%" PRId64 "/schedstat", pid);
	FILE *file = fopen(path, "r");
	if (!file)
		return 0;
	/* NOLINTNEXTLINE(cert-err34-c): the kernel writes a number that fits */
	if (fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	fclose(file);
	return (double)ns / 1e6;
}

static void raise_to(double *most, double value)
{
	*most = value > *most ? value : *most;
}

int main(int argc, char **argv)
{
	const char *url = getenv("PG_URL");
	if (!url)
		return 64;
	int64_t now_us = argument(argc, argv, 1, INT64_MAX / 2 / CLOCK_US_PER_S) * CLOCK_US_PER_S;
	int64_t deltas_max = argument(argc, argv, 2, ROLLUPS_FOLD_DELTAS_MAX);
	int64_t steps_max = argument(argc, argv, 3, INT64_MAX);
	int64_t steps = 0;
	double longest_ms = 0;
	double most_cpu_ms = 0;
	struct rollups_pass fold = { 0 };
	struct log *log = log_new("fold_rollups", LOG_INFO, 2);
	struct pg_conn *conn = NULL;
	int64_t backend = 0;
	enum err err = pg_conn_open(url, "waymark-janitor", CONNECT_TIMEOUT_MS, 0, log, &conn);
	if (err == OK)
		err = pg_conn_query_int(conn, "SELECT pg_backend_pid()", NULL, &backend);
	int64_t began_us = clock_steady_us(clock_system());
	for (; err == OK && !fold.is_over && steps < steps_max; steps++) {
		int64_t step_began_us = clock_steady_us(clock_system());
		double cpu_ms = cpu_ms_of(getpid()) + cpu_ms_of(backend);
		err = step(conn, &fold, now_us, deltas_max);
		raise_to(&longest_ms,
		         (double)(clock_steady_us(clock_system()) - step_began_us) / 1000);
		raise_to(&most_cpu_ms, cpu_ms_of(getpid()) + cpu_ms_of(backend) - cpu_ms);
	}
	printf("{\"steps\": %" PRId64 ", \"deltas\": %" PRId64 ", \"rows\": %" PRId64
	       ", \"entries\": %" PRId64 ", \"took_ms\": %.1f, \"longest_ms\": %.1f, "
	       "\"most_cpu_ms\": %.1f, \"cpu_ms\": %.1f, \"postgres_ms\": %.1f}\n",
	       steps, fold.deltas, fold.rows_written, fold.entries_written,
	       (double)(clock_steady_us(clock_system()) - began_us) / 1000, longest_ms, most_cpu_ms,
	       cpu_ms_of(getpid()), cpu_ms_of(backend));
	pg_conn_close(conn);
	log_free(log);
	return err == OK ? 0 : 1;
}
