#include "services/links-api/accounts/make_admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/program.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/accounts/audit_store.h"
#include "services/links-api/accounts/user_store.h"

#define CONNECT_TIMEOUT_MS 5000
#define STATEMENT_TIMEOUT_MS 5000

/* Who adds the first administrator has the database at hand, but not always the whole service. */
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

const char *make_admin_wanted(int argc, char **argv)
{
	return argc == 3 && strcmp(argv[1], MAKE_ADMIN_OPTION) == 0 ? argv[2] : NULL;
}

static enum err audit(struct pg_conn *conn, int64_t id)
{
	struct json *details = json_new_object();
	json_set_text(details, "role", user_role_name(USER_ROLE_ADMIN));
	const struct audit_entry entry = { .action = "user.update",
		                           .subject_type = AUDIT_STORE_USER,
		                           .subject_id = id,
		                           .details = details };
	enum err err = audit_store_add(conn, &entry);
	json_free(details);
	return err;
}

struct promotion {
	const char *email;
	struct user user; /* after the promotion */
};

static enum err make_admin_on(void *ctx, struct pg_conn *conn)
{
	struct promotion *promotion = ctx;
	enum err err = user_store_make_admin(conn, promotion->email, &promotion->user);
	return err == OK ? audit(conn, promotion->user.id) : err;
}

int make_admin_run(const char *email)
{
	struct settings settings;
	char name[] = "links-api";
	char *no_arguments[] = { name, NULL };
	int status = program_start(&program, 1, no_arguments, &settings);
	if (status != PROGRAM_RUN)
		return status;
	struct log *log = log_new("links-api", LOG_INFO, 2);
	struct pg_conn *conn = NULL;
	struct promotion promotion = { .email = email };
	enum err err = pg_conn_open(settings.pg_url, "links-api", CONNECT_TIMEOUT_MS,
	                            STATEMENT_TIMEOUT_MS, log, &conn);
	if (err == OK)
		err = pg_transaction_on(conn, make_admin_on, &promotion);
	pg_conn_close(conn);
	log_free(log);
	if (err == OK)
		printf("links-api: account %" PRId64 " is now an administrator\n",
		       promotion.user.id);
	else if (err == ERR_NOT_FOUND)
		fprintf(stderr,
		        "links-api: no account has this e-mail address; register it first\n");
	else
		fprintf(stderr, "links-api: could not update the account (%s)\n", err_name(err));
	return err == OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
