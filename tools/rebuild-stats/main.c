#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/program.h"
#include "tools/rebuild-stats/rebuild.h"

#define CONNECT_TIMEOUT_MS 5000
#define EXIT_UNEQUAL 1
#define EXIT_NOT_DONE 2

struct config {
	char pg_url[1024];
};

static const struct env_var vars[] = {
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1, "libpq connection string of the schema's owner"),
};

static size_t check(const void *arg, struct strbuf *problems)
{
	const struct config *config = arg;
	return env_expect(pg_conn_url_is_valid(config->pg_url), "PG_URL", "libpq cannot read it", problems);
}

static const struct program program = {
	.name = "rebuild-stats",
	.summary =
		"makes statistics and roll-ups of a link, or of all, say again what the visit log says, while consumers count;\n"
		"ends with 0 if they are equal then, with 1 if they are not, with 2 if it could not tell",
	.options = "[--check] --link ID | [--check] --all",
	.vars = vars,
	.var_count = sizeof(vars) / sizeof(vars[0]),
	.check = check,
};

/* False: it is none of ours. */
static bool read_wish(int argc, char **argv, struct rebuild_options *wish)
{
	int named = 0; /* which links: once, and no more */
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--check") == 0) {
			wish->check_only = true;
			continue;
		}
		bool is_link = strcmp(argv[i], "--link") == 0 && i + 1 < argc &&
		               number_parse(argv[i + 1], 1, INT64_MAX, &wish->link_id) == OK;
		if (!is_link && strcmp(argv[i], "--all") != 0)
			return false;
		i += is_link;
		named++;
	}
	return named == 1;
}

static int exit_status(enum err err, struct pg_conn *conn)
{
	switch (err) {
	case OK:
		return 0;
	case ERR_CONFLICT:
		return EXIT_UNEQUAL;
	case ERR_NOT_FOUND:
		fprintf(stderr, "rebuild-stats: there is no such link\n");
		return EXIT_NOT_DONE;
	case ERR_LIMIT:
		fprintf(stderr, "rebuild-stats: another one is at work\n");
		return EXIT_NOT_DONE;
	default:
		fprintf(stderr, "rebuild-stats: %s\n", conn ? pg_conn_message(conn) : "PostgreSQL cannot be reached");
		return EXIT_NOT_DONE;
	}
}

int main(int argc, char **argv)
{
	struct rebuild_options wish = { 0 };
	struct config config;
	bool is_clear = read_wish(argc, argv, &wish);
	int status = program_start(&program, is_clear ? 1 : argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;
	if (!is_clear) {
		fprintf(stderr, "rebuild-stats: %s\n", program.options);
		return PROGRAM_EXIT_USAGE;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct log *log = log_new(program.name, LOG_INFO, 2);
	struct pg_conn *conn = NULL;
	enum err err = pg_conn_open(config.pg_url, program.name, CONNECT_TIMEOUT_MS, 0, log, &conn);
	if (err == OK)
		err = rebuild_run(conn, &wish);
	status = exit_status(err, conn);
	pg_conn_close(conn);
	log_free(log);
	return status;
}
