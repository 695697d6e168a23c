#include "services/links-api/commands/one_command.h"

#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/program.h"

#define CONNECT_TIMEOUT_MS 5000
#define STATEMENT_TIMEOUT_MS 30000

struct settings {
	char pg_url[1024];
};

static const struct env_var vars[] = {
	ENV_SECRET("PG_URL", struct settings, pg_url, NULL, 1,
	           "PostgreSQL connection string in libpq syntax"),
};

static size_t check(const void *settings, struct strbuf *problems)
{
	return pg_conn_url_check(((const struct settings *)settings)->pg_url, problems);
}

static const struct program program = {
	.name = "links-api",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct settings),
	.check = check,
};

int one_command_run(enum err (*work)(void *ctx, struct pg_conn *conn), void *ctx)
{
	struct settings settings;
	char name[] = "links-api";
	char *no_arguments[] = { name, NULL };
	int status = program_start(&program, 1, no_arguments, &settings);
	if (status != PROGRAM_RUN)
		return status;
	struct log *log = log_new("links-api", LOG_INFO, 2);
	struct pg_conn *conn = NULL;
	enum err err = pg_conn_open(settings.pg_url, "links-api", CONNECT_TIMEOUT_MS,
	                            STATEMENT_TIMEOUT_MS, log, &conn);
	if (err == OK)
		err = work(ctx, conn);
	pg_conn_close(conn);
	log_free(log);
	return err == OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
