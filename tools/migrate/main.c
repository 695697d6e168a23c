#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/array.h"
#include "lib/base/program.h"
#include "lib/postgres/pg_conn.h"
#include "tools/migrate/migration_run.h"

#define PROBLEMS_MAX (256 * 1024)

struct config {
	char pg_url[PG_CONN_URL_SIZE];
	char folder[512];
	int64_t wait_s;
	int64_t lock_wait_s;
};

static const struct env_var vars[] = {
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1,
	           "libpq connection string of the schema's owner"),
	ENV_TEXT("MIGRATIONS_DIR", struct config, folder, "db/migrations",
	         "folder with the migrations NNNN_name.sql"),
	ENV_INT("MIGRATE_WAIT_S", struct config, wait_s, "60", 0, 3600,
	        "seconds to wait for a server that cannot be reached"),
	ENV_INT("MIGRATE_LOCK_WAIT_S", struct config, lock_wait_s, "21600", 0, 86400,
	        "seconds to try again while another transaction, such as a backup, uses a table"),
};

static size_t check(const void *arg, struct strbuf *problems)
{
	const struct config *config = arg;
	size_t wrong = 0;
	struct stat info;
	bool is_folder = stat(config->folder, &info) == 0 && S_ISDIR(info.st_mode);
	char reason[sizeof(config->folder) + 32];
	snprintf(reason, sizeof(reason), "%s is not a folder", config->folder);
	wrong += pg_conn_url_check(config->pg_url, problems);
	wrong += env_expect(is_folder, "MIGRATIONS_DIR", reason, problems);
	return wrong;
}

static const struct program program = {
	.name = "migrate",
	.summary =
		"applies pending migrations to a database; --status only lists applied and pending ones",
	.options = "--status",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};

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
		err = migration_run_connect(config.pg_url, config.wait_s, log, &conn);
	if (err == OK)
		err = status_only
		              ? migration_run_status(conn, folder, &problems)
		              : migration_run_apply(conn, folder, config.lock_wait_s, &problems);
	if (problems.len > 0)
		fprintf(stderr, "migrate: nothing was applied; fix these problems in %s:\n%s",
		        config.folder, problems.data);

	pg_conn_close(conn);
	migration_folder_free(folder);
	strbuf_clear(&problems);
	log_free(log);
	return err == OK ? 0 : 1;
}
