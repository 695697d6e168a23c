#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "lib/base/program.h"
#include "lib/postgres/pg_conn.h"
#include "tools/rebuild-stats/rebuild.h"

#define CONNECT_TIMEOUT_MS 5000
#define EXIT_DIFFERENT 1
#define EXIT_UNDETERMINED 2

struct config {
	char pg_url[PG_CONN_URL_SIZE];
};

static const struct env_var vars[] = {
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1,
	           "libpq connection string of the owner of the schema"),
};

static size_t check(const void *arg, struct strbuf *problems)
{
	const struct config *config = arg;
	return pg_conn_url_check(config->pg_url, problems);
}

static const struct program program = {
	.name = "rebuild-stats",
	.summary =
		"makes the statistics and roll-ups of one link or of all links equal to the visit log, while consumers count;\n"
		"exit status: 0 = equal, 1 = different, 2 = could not be determined, 64 = wrong arguments or "
		"environment",
	.options = "[--check] --link ID | [--check] --all",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};

/* False when the arguments are invalid. */
static bool parse_options(int argc, char **argv, struct rebuild_options *options)
{
	int selections = 0; /* of --link and --all; exactly one is required */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--check") == 0) {
			options->check_only = true;
			continue;
		}
		bool is_link = strcmp(argv[i], "--link") == 0 && i + 1 < argc &&
		               number_parse(argv[i + 1], 1, INT64_MAX, &options->link_id) == OK;
		if (!is_link && strcmp(argv[i], "--all") != 0)
			return false;
		i += is_link;
		selections++;
	}
	return selections == 1;
}

static int exit_status(enum err err, struct pg_conn *conn)
{
	switch (err) {
	case OK:
		return 0;
	case ERR_CONFLICT:
		return EXIT_DIFFERENT;
	case ERR_NOT_FOUND:
		fprintf(stderr, "rebuild-stats: the link does not exist\n");
		return EXIT_UNDETERMINED;
	case ERR_LIMIT:
		fprintf(stderr, "rebuild-stats: another rebuild is running; try again later\n");
		return EXIT_UNDETERMINED;
	default:
		fprintf(stderr, "rebuild-stats: %s\n",
		        conn ? pg_conn_message(conn) : "PostgreSQL cannot be reached");
		return EXIT_UNDETERMINED;
	}
}

int main(int argc, char **argv)
{
	struct rebuild_options options = { 0 };
	struct config config;
	bool is_valid = parse_options(argc, argv, &options);
	int status = program_start(&program, is_valid ? 1 : argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;
	if (!is_valid) {
		fprintf(stderr, "rebuild-stats: %s\n", program.options);
		return PROGRAM_EXIT_USAGE;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct log *log = log_new(program.name, LOG_INFO, 2);
	struct pg_conn *conn = NULL;
	enum err err = pg_conn_open(config.pg_url, program.name, CONNECT_TIMEOUT_MS, 0, log, &conn);
	if (err == OK)
		err = rebuild_run(conn, &options);
	status = exit_status(err, conn);
	pg_conn_close(conn);
	log_free(log);
	return status;
}
