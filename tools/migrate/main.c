#include <stdio.h>
#include <string.h>

#include "tools/migrate/config.h"
#include "tools/migrate/migration_run.h"

#define PROBLEMS_MAX (256 * 1024)

int main(int argc, char **argv)
{
	bool status_only = argc == 2 && strcmp(argv[1], "--status") == 0;
	struct config config;
	int status = program_start(&config_program, status_only ? 1 : argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	struct log *log = log_new(config_program.name, LOG_INFO, 2);
	struct strbuf problems;
	strbuf_init(&problems, PROBLEMS_MAX);
	struct migration_folder *folder = NULL;
	struct pg_conn *conn = NULL;

	enum err err = migration_folder_read(config.folder, &folder, &problems);
	if (err == OK)
		err = migration_run_connect(config.pg_url, config.wait_s, log, &conn);
	if (err == OK)
		err = status_only ? migration_run_status(conn, folder, &problems)
		                  : migration_run_apply(conn, folder, &problems);
	if (problems.len > 0)
		fprintf(stderr, "migrate: nothing was applied; fix these problems in %s:\n%s", config.folder,
		        problems.data);

	pg_conn_close(conn);
	migration_folder_free(folder);
	strbuf_clear(&problems);
	log_free(log);
	return err == OK ? 0 : 1;
}
