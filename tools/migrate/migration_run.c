#include "tools/migrate/migration_run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "tools/migrate/migration_ledger.h"

#define APPLICATION_NAME "migrate"
#define CONNECT_TIMEOUT_MS 5000
#define RETRY_MS 250
/* Meanwhile others do what the attempt before has made them wait for. */
#define LOCK_RETRY_MS 2000

enum err migration_run_connect(const char *url, int64_t wait_s, const struct log *log,
                               struct pg_conn **out)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + wait_s * CLOCK_US_PER_S;
	/* Only the first failure is logged; the following ones would repeat it. */
	enum err err = pg_conn_open(url, APPLICATION_NAME, CONNECT_TIMEOUT_MS, 0, log, out);
	while (err != OK && clock_steady_us(clock_system()) < deadline_us) {
		poll(NULL, 0, RETRY_MS);
		err = pg_conn_open(url, APPLICATION_NAME, CONNECT_TIMEOUT_MS, 0, NULL, out);
	}
	if (err == OK)
		pg_conn_set_log(*out, log);
	else
		fprintf(stderr, "migrate: the server could not be reached within %lld s\n",
		        (long long)wait_s);
	return err;
}

/* Compares the folder with the records. The caller frees *recorded, also after an error. */
static enum err find_state(struct pg_conn *conn, const struct migration_folder *folder,
                           struct migration_ledger **recorded, struct migration_state *out,
                           struct strbuf *problems)
{
	*recorded = mem_zero(sizeof(**recorded));
	enum err err = migration_ledger_read(conn, *recorded);
	if (err == OK)
		return migration_compare(folder, (*recorded)->recorded, (*recorded)->count, out,
		                         problems);
	fprintf(stderr, "migrate: schema_migrations cannot be read: %s\n", pg_conn_message(conn));
	return err;
}

static enum err apply_one(struct pg_conn *conn, const struct migration_file *file,
                          int64_t lock_wait_s)
{
	char name[MIGRATION_FILE_SIZE];
	migration_format_file(&file->migration, name);
	int64_t deadline_us = clock_steady_us(clock_system()) + lock_wait_s * CLOCK_US_PER_S;
	enum err err = migration_ledger_apply(conn, file);
	if (err == ERR_LIMIT && lock_wait_s > 0)
		printf("migrate: %s waits for a table that another transaction uses, such as a "
		       "backup; trying again for %lld s, while everything else goes on\n",
		       name, (long long)lock_wait_s);
	while (err == ERR_LIMIT && clock_steady_us(clock_system()) < deadline_us) {
		poll(NULL, 0, LOCK_RETRY_MS);
		err = migration_ledger_apply(conn, file);
	}
	if (err == OK)
		printf("migrate: applied %s\n", name);
	else
		fprintf(stderr, "migrate: %s failed: %s\n", name, pg_conn_message(conn));
	return err;
}

static void report_newer(const struct migration *newest)
{
	char name[MIGRATION_FILE_SIZE];
	migration_format_file(newest, name);
	printf("migrate: the database is newer than this version (its newest migration is %s), so "
	       "there is nothing to do\n",
	       name);
}

enum err migration_run_apply(struct pg_conn *conn, const struct migration_folder *folder,
                             int64_t lock_wait_s, struct strbuf *problems)
{
	struct migration_ledger *ledger = NULL;
	struct migration_state state = { 0 };
	enum err err = migration_ledger_lock(conn);
	if (err != OK) {
		fprintf(stderr, "migrate: schema_migrations cannot be locked: %s\n",
		        pg_conn_message(conn));
		return err;
	}
	err = find_state(conn, folder, &ledger, &state, problems);
	for (size_t i = state.next; err == OK && i < folder->count; i++)
		err = apply_one(conn, &folder->files[i], lock_wait_s);
	if (err == OK && state.newer > 0)
		report_newer(&ledger->recorded[ledger->count - 1]);
	else if (err == OK)
		printf("migrate: the schema is up to date, %zu applied now, %zu before\n",
		       folder->count - state.next, state.next);
	free(ledger);
	return err;
}

static void list(const char *state, const struct migration *m)
{
	char name[MIGRATION_FILE_SIZE];
	migration_format_file(m, name);
	printf("%-8s %s\n", state, name);
}

enum err migration_run_status(struct pg_conn *conn, const struct migration_folder *folder,
                              struct strbuf *problems)
{
	struct migration_ledger *ledger = NULL;
	struct migration_state state = { 0 };
	enum err err = find_state(conn, folder, &ledger, &state, problems);
	for (size_t i = 0; err == OK && i < folder->count; i++)
		list(i < state.next ? "applied" : "pending", &folder->files[i].migration);
	for (size_t i = ledger->count - state.newer; err == OK && i < ledger->count; i++)
		list("newer", &ledger->recorded[i]);
	free(ledger);
	return err;
}
