#include "services/links-api/commands/make_admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/postgres/pg_transaction.h"
#include "services/links-api/commands/one_command.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/user_store.h"

const char *make_admin_wanted(int argc, char **argv)
{
	return argc == 3 && strcmp(argv[1], MAKE_ADMIN_OPTION) == 0 ? argv[2] : NULL;
}

static enum err audit(struct pg_conn *conn, int64_t id)
{
	struct json *details = json_new_object();
	json_set_text(details, "role", user_store_role_name(USER_ROLE_ADMIN));
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
	/* After the promotion. */
	struct user user;
};

static enum err make_admin_on(void *ctx, struct pg_conn *conn)
{
	struct promotion *promotion = ctx;
	enum err err = user_store_make_admin(conn, promotion->email, &promotion->user);
	return err == OK ? audit(conn, promotion->user.id) : err;
}

static enum err make_admin(void *ctx, struct pg_conn *conn)
{
	struct promotion *promotion = ctx;
	enum err err = pg_transaction_on(conn, make_admin_on, promotion);
	if (err == OK)
		printf("links-api: account %" PRId64 " is now an administrator\n",
		       promotion->user.id);
	else if (err == ERR_NOT_FOUND)
		fprintf(stderr,
		        "links-api: no account has this e-mail address; register it first\n");
	else
		fprintf(stderr, "links-api: could not update the account (%s)\n", err_name(err));
	return err;
}

int make_admin_run(const char *email)
{
	struct promotion promotion = { .email = email };
	return one_command_run(make_admin, &promotion);
}
