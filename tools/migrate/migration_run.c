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

/* Compares the folder with the records: the files from *next on are pending. */
static enum err find_pending(struct pg_conn *conn, const struct migration_folder *folder,
                             size_t *next, struct strbuf *problems)
{
	struct migration_ledger *ledger = mem_zero(sizeof(*ledger));
	enum err err = migration_ledger_read(conn, ledger);
	if (err != OK)
		fprintf(stderr, "migrate: schema_migrations cannot be read: %s\n",
		        pg_conn_message(conn));
	else
		err = migration_compare(folder, ledger->recorded, ledger->count, next, problems);
	free(ledger);
	return err;
}

static enum err apply_one(struct pg_conn *conn, const struct migration_file *file)
{
	char name[MIGRATION_FILE_SIZE];
	migration_format_file(&file->migration, name);
	enum err err = migration_ledger_apply(conn, file);
	if (err == OK)
		printf("migrate: applied %s\n", name);
	else
		fprintf(stderr, "migrate: %s failed: %s\n", name, pg_conn_message(conn));
	return err;
}

enum err migration_run_apply(struct pg_conn *conn, const struct migration_folder *folder,
                             struct strbuf *problems)
{
	size_t next = 0;
	enum err err = migration_ledger_lock(conn);
	if (err != OK) {
		fprintf(stderr, "migrate: schema_migrations cannot be locked: %s\n",
		        pg_conn_message(conn));
		return err;
	}
	err = find_pending(conn, folder, &next, problems);
	for (size_t i = next; err == OK && i < folder->count; i++)
		err = apply_one(conn, &folder->files[i]);
	if (err == OK)
		printf("migrate: the schema is up to date, %zu applied now, %zu before\n",
		       folder->count - next, next);
	return err;
}

enum err migration_run_status(struct pg_conn *conn, const struct migration_folder *folder,
                              struct strbuf *problems)
{
	size_t next = 0;
	enum err err = find_pending(conn, folder, &next, problems);
	for (size_t i = 0; err == OK && i < folder->count; i++) {
		char name[MIGRATION_FILE_SIZE];
		migration_format_file(&folder->files[i].migration, name);
		printf("%-8s %s\n", i < next ? "applied" : "pending", name);
	}
	return err;
}
