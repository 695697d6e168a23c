#include <poll.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/program.h"
#include "tools/migrate/migration_ledger.h"

#define CONNECT_TIMEOUT_MS 5000
#define RETRY_MS 250
#define PROBLEMS_MAX (256 * 1024)

struct config {
	char pg_url[1024];
	char folder[512];
	int64_t wait_s;
};

static const struct env_var vars[] = {
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1, "libpq connection string of the schema's owner"),
	ENV_TEXT("MIGRATIONS_DIR", struct config, folder, "db/migrations", "folder with NNNN_name.sql"),
	ENV_INT("MIGRATE_WAIT_S", struct config, wait_s, "60", 0, 3600, "seconds to wait for a server that is away"),
};

static size_t check(const void *arg, struct strbuf *problems)
{
	const struct config *config = arg;
	size_t wrong = 0;
	if (!pg_conn_url_is_valid(config->pg_url)) {
		strbuf_add_text(problems, "PG_URL: is not a connection string that libpq can read\n");
		wrong++;
	}
	struct stat info;
	if (stat(config->folder, &info) != 0 || !S_ISDIR(info.st_mode)) {
		strbuf_add_format(problems, "MIGRATIONS_DIR: %s is not a folder\n", config->folder);
		wrong++;
	}
	return wrong;
}

static const struct program program = {
	.name = "migrate",
	.summary = "brings a database's schema up to date; with --status it only lists what is applied and pending",
	.vars = vars,
	.var_count = sizeof(vars) / sizeof(vars[0]),
	.check = check,
};

/* Only the first failure is logged: the others would say the same. */
static enum err connect_patiently(const struct config *config, const struct log *log, struct pg_conn **conn)
{
	int64_t until_us = clock_steady_us(clock_system()) + config->wait_s * CLOCK_US_PER_S;
	enum err err = pg_conn_open(config->pg_url, program.name, CONNECT_TIMEOUT_MS, 0, log, conn);
	while (err != OK && clock_steady_us(clock_system()) < until_us) {
		poll(NULL, 0, RETRY_MS);
		err = pg_conn_open(config->pg_url, program.name, CONNECT_TIMEOUT_MS, 0, NULL, conn);
	}
	if (err == OK)
		pg_conn_set_log(*conn, log);
	else
		fprintf(stderr, "migrate: the server could not be reached within %lld s\n", (long long)config->wait_s);
	return err;
}

static enum err apply_pending(struct pg_conn *conn, const struct migration_folder *folder, size_t next)
{
	for (size_t i = next; i < folder->count; i++) {
		char file[MIGRATION_FILE_SIZE];
		migration_format_file(&folder->files[i].migration, file);
		enum err err = migration_ledger_apply(conn, &folder->files[i]);
		if (err != OK) {
			fprintf(stderr, "migrate: %s failed: %s\n", file, pg_conn_message(conn));
			return err;
		}
		printf("migrate: applied %s\n", file);
	}
	printf("migrate: the schema is up to date, %zu applied now, %zu before\n", folder->count - next, next);
	return OK;
}

static void print_status(const struct migration_folder *folder, size_t next)
{
	for (size_t i = 0; i < folder->count; i++) {
		char file[MIGRATION_FILE_SIZE];
		migration_format_file(&folder->files[i].migration, file);
		printf("%-8s %s\n", i < next ? "applied" : "pending", file);
	}
}

static enum err run(struct pg_conn *conn, const struct migration_folder *folder, bool status_only, struct strbuf *problems)
{
	struct migration_ledger *ledger = mem_zero(sizeof(*ledger));
	size_t next = 0;
	enum err err = status_only ? OK : migration_ledger_lock(conn);
	if (err == OK)
		err = migration_ledger_read(conn, ledger);
	if (err != OK)
		fprintf(stderr, "migrate: schema_migrations cannot be used: %s\n", pg_conn_message(conn));
	if (err == OK)
		err = migration_compare(folder, ledger->recorded, ledger->count, &next, problems);
	if (err == OK && status_only)
		print_status(folder, next);
	else if (err == OK)
		err = apply_pending(conn, folder, next);
	free(ledger);
	return err;
}

int main(int argc, char **argv)
{
	bool status_only = argc == 2 && strcmp(argv[1], "--status") == 0;
	struct config config;
	int status = program_start(&program, status_only ? 1 : argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct log *log = log_new(program.name, LOG_INFO, 2);
	struct strbuf problems;
	strbuf_init(&problems, PROBLEMS_MAX);
	struct migration_folder *folder = NULL;
	struct pg_conn *conn = NULL;

	enum err err = migration_folder_read(config.folder, &folder, &problems);
	if (err == OK)
		err = connect_patiently(&config, log, &conn);
	if (err == OK)
		err = run(conn, folder, status_only, &problems);
	if (problems.len > 0)
		fprintf(stderr, "migrate: nothing was applied, because in %s:\n%s", config.folder, problems.data);

	pg_conn_close(conn);
	migration_folder_free(folder);
	strbuf_clear(&problems);
	log_free(log);
	return err == OK ? 0 : 1;
}
