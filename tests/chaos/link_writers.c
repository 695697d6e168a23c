/*
 * Many writers, for the chaos tests of the outbox. Sixteen threads change links of one owner
 * through link_store, as links-api does, in transactions of up to 20 ms. Half of the transactions
 * have their id long before they lock the link, and an eighth is rolled back. Each attempt writes a
 * destination of its own, https://example.com/{attempt}, and then a line into the log:
 *
 *   {link id} {attempt} {version} {µs since 1970 at the acknowledgement; 0 after a rollback}
 *
 * The program ends when its standard input ends.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/links/link_store.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/links/link_write.h"

#define WRITERS 16
#define TRANSACTION_US_MAX 20000
#define CONNECT_TIMEOUT_MS 10000
#define STATEMENT_TIMEOUT_MS 30000

struct options {
	const char *pg_url;
	const char *log;
	int64_t first_id;
	unsigned links;
	int64_t workspace_id;
	/* Transactions a second, all writers together. */
	int64_t rate;
};

struct writer {
	const struct options *options;
	const _Atomic bool *is_over;
	FILE *log;
	pthread_t thread;
	struct pg_conn *conn;
	unsigned seed;
	unsigned number;
	unsigned attempts;
	struct link link;
	bool failed;
};

static void sleep_us(int64_t us)
{
	struct timespec time = { .tv_sec = us / CLOCK_US_PER_S,
		                 .tv_nsec = us % CLOCK_US_PER_S * 1000 };
	nanosleep(&time, NULL);
}

static enum err change(struct writer *w, int64_t id, const char *attempt)
{
	enum err err = pg_conn_begin(w->conn);
	if (err == OK && rand_r(&w->seed) % 2)
		err = pg_conn_query(w->conn, "SELECT pg_current_xact_id()", NULL, NULL);
	if (err == OK)
		err = link_store_lock(w->conn, id, w->options->workspace_id, &w->link);
	if (err != OK)
		return err;
	snprintf(w->link.entry.original_url, sizeof(w->link.entry.original_url),
	         "https://example.com/%s", attempt);
	err = link_write_update(w->conn, &w->link, &(enum link_change){ LINK_CHANGE_UPDATED }, 1);
	sleep_us(rand_r(&w->seed) % TRANSACTION_US_MAX);
	return err;
}

static void attempt(struct writer *w)
{
	char name[32];
	snprintf(name, sizeof(name), "%u-%u", w->number, ++w->attempts);
	int64_t id = w->options->first_id + rand_r(&w->seed) % w->options->links;
	bool commits = rand_r(&w->seed) % 8 != 0;
	enum err err = change(w, id, name);
	if (err == OK && commits)
		err = pg_conn_commit(w->conn);
	else
		pg_conn_rollback(w->conn);
	w->failed = err != OK;
	if (w->failed)
		return;
	int64_t acked_us = commits ? clock_now_us(clock_system()) : 0;
	fprintf(w->log, "%lld %s %lld %lld\n", (long long)id, name,
	        (long long)w->link.entry.version, (long long)acked_us);
}

static void *write_changes(void *arg)
{
	struct writer *w = arg;
	const int64_t period_us = WRITERS * CLOCK_US_PER_S / w->options->rate;
	int64_t due_us = clock_steady_us(clock_system()) + period_us * w->number / WRITERS;
	while (!atomic_load(w->is_over) && !w->failed) {
		int64_t early_us = due_us - clock_steady_us(clock_system());
		if (early_us > 0)
			sleep_us(early_us);
		due_us += period_us;
		attempt(w);
	}
	return NULL;
}

static void start(struct writer *w)
{
	enum err err = pg_conn_open(w->options->pg_url, "link_writers", CONNECT_TIMEOUT_MS,
	                            STATEMENT_TIMEOUT_MS, NULL, &w->conn);
	if (err != OK || pthread_create(&w->thread, NULL, write_changes, w) != 0) {
		fprintf(stderr, "link_writers: cannot start a writer\n");
		exit(1);
	}
}

static bool run(const struct options *options, FILE *log)
{
	struct writer *writers = mem_array(WRITERS, sizeof(*writers));
	_Atomic bool is_over = false;
	bool failed = false;
	char byte;
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ .options = options,
			                      .is_over = &is_over,
			                      .log = log,
			                      .seed = i + 1,
			                      .number = i };
		start(&writers[i]);
	}
	while (read(STDIN_FILENO, &byte, 1) > 0)
		continue;
	atomic_store(&is_over, true);
	for (unsigned i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		failed = failed || writers[i].failed;
		pg_conn_close(writers[i].conn);
	}
	free(writers);
	return !failed;
}

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = { { "pg", required_argument, NULL, 'p' },
		                               { "log", required_argument, NULL, 'l' },
		                               { "first-id", required_argument, NULL, 'f' },
		                               { "links", required_argument, NULL, 'n' },
		                               { "owner", required_argument, NULL, 'o' },
		                               { "rate", required_argument, NULL, 'r' },
		                               { 0 } };
	struct options options = { 0 };
	for (int name; (name = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (name) {
		case 'p':
			options.pg_url = optarg;
			break;
		case 'l':
			options.log = optarg;
			break;
		case 'f':
			options.first_id = strtoll(optarg, NULL, 10);
			break;
		case 'n':
			options.links = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 'o':
			options.workspace_id = strtoll(optarg, NULL, 10);
			break;
		case 'r':
			options.rate = strtoll(optarg, NULL, 10);
			break;
		default:
			exit(64);
		}
	}
	if (!options.pg_url || !options.log || options.links == 0 || options.rate <= 0)
		exit(64);
	return options;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	FILE *log = fopen(options.log, "we");
	if (!log) {
		perror(options.log);
		return 1;
	}
	bool is_well = run(&options, log);
	return fclose(log) == 0 && is_well ? 0 : 1;
}
