#include "services/links-api/commands/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mail_address.h"
#include "lib/base/program.h"
#include "lib/base/timestamp.h"
#include "lib/kafka/kafka_config.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/commands/republish.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/identity/user_store.h"

#define CONNECT_TIMEOUT_MS 5000
#define STATEMENT_TIMEOUT_MS 30000
#define FOLD_BATCH_MAX 1000

struct settings {
	char pg_url[PG_CONN_URL_SIZE];
	/* Only --republish-links reads and checks it. */
	struct kafka_config kafka;
};

/* What a command works with. */
struct means {
	struct pg_conn *conn;
	const struct kafka_config *kafka;
	const struct log *log;
};

#define PG_URL_VAR                                                                                 \
	ENV_SECRET("PG_URL", struct settings, pg_url, NULL, 1,                                     \
	           "PostgreSQL connection string in libpq syntax")

static const struct env_var postgres_vars[] = { PG_URL_VAR };
static const struct env_var all_vars[] = { PG_URL_VAR, KAFKA_CONFIG_VARS(struct settings, kafka) };

static size_t check_postgres(const void *settings, struct strbuf *problems)
{
	return pg_conn_url_check(((const struct settings *)settings)->pg_url, problems);
}

static size_t check_all(const void *settings, struct strbuf *problems)
{
	return check_postgres(settings, problems) +
	       kafka_config_check(&((const struct settings *)settings)->kafka, problems);
}

static const struct program with_postgres = {
	.name = "links-api",
	.vars = postgres_vars,
	.var_count = ARRAY_SIZE(postgres_vars),
	.config_size = sizeof(struct settings),
	.check = check_postgres,
};

static const struct program with_kafka = {
	.name = "links-api",
	.vars = all_vars,
	.var_count = ARRAY_SIZE(all_vars),
	.config_size = sizeof(struct settings),
	.check = check_all,
};

/*
 * Connects, calls work and returns the exit status. work has said on stdout or stderr what came of
 * it; that PostgreSQL or Kafka cannot be reached is logged.
 */
static int run(const struct program *program, enum err (*work)(void *ctx, struct means *means),
               void *ctx)
{
	struct settings settings;
	char name[] = "links-api";
	char *no_arguments[] = { name, NULL };
	int status = program_start(program, 1, no_arguments, &settings);
	if (status != PROGRAM_RUN)
		return status;
	struct log *log = log_new("links-api", LOG_INFO, 2);
	struct pg_conn *conn = NULL;
	enum err err = pg_conn_open(settings.pg_url, "links-api", CONNECT_TIMEOUT_MS,
	                            STATEMENT_TIMEOUT_MS, log, &conn);
	if (err == OK)
		err = work(ctx, &(struct means){ conn, &settings.kafka, log });
	pg_conn_close(conn);
	log_free(log);
	return err == OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* --- create-admin --- */

struct promotion {
	const char *email;
	/* The origin of the dashboard: "https://api.sho.rt"; "" = not given. */
	char dashboard[1024];
	bool is_new;
	/* After the promotion. */
	struct user user;
	/* Sets the password, once. */
	struct secret token;
	int64_t expires_at_us;
};

static enum err audit(struct pg_conn *conn, int64_t id, const char *action, bool has_role)
{
	struct json *details = json_new_object();
	if (has_role)
		json_set_text(details, "role", user_store_role_name(USER_ROLE_ADMIN));
	const struct audit_entry entry = { .action = action,
		                           .subject_type = AUDIT_STORE_USER,
		                           .subject_id = id,
		                           .details = details };
	enum err err = audit_store_add(conn, &entry);
	json_free(details);
	return err;
}

static enum err promote(void *ctx, struct pg_conn *conn)
{
	struct promotion *p = ctx;
	char hash[PASSWORD_HASH_SIZE];
	enum err err = user_store_find(conn, p->email, &p->user, hash);
	p->is_new = err == ERR_NOT_FOUND;
	if (err == OK || p->is_new)
		err = user_store_make_admin(conn, p->email, &p->user);
	if (err == OK)
		err = user_store_set_reset(conn, p->user.id, false, p->token.hash,
		                           USER_STORE_RESET_S, &p->expires_at_us);
	if (err == OK)
		err = audit(conn, p->user.id, p->is_new ? "user.create" : "user.update", true);
	return err == OK ? audit(conn, p->user.id, "user.password_reset_create", false) : err;
}

static enum err create_admin(void *ctx, struct means *means)
{
	struct promotion *p = ctx;
	char expires_at[TIMESTAMP_TEXT_SIZE];
	secret_generate(SECRET_RESET, &p->token);
	enum err err = pg_pool_transact_on(means->conn, promote, p);
	if (err != OK) {
		fprintf(stderr, "links-api: could not change the account (%s)\n", err_name(err));
		return err;
	}
	timestamp_format_ms(p->expires_at_us, expires_at);
	printf("links-api: %s account %" PRId64 " of %s is an administrator\n",
	       p->is_new ? "the new" : "the existing", p->user.id, p->user.email);
	printf("links-api: open this once, until %s, to set the password%s:\n%s/app/reset#%s\n",
	       expires_at, p->dashboard[0] ? "" : ", at the address of the dashboard", p->dashboard,
	       p->token.text);
	return OK;
}

/* The arguments behind the option; dashboard may be NULL. */
static int run_create_admin(const char *email, const char *dashboard)
{
	struct promotion p = { .email = email };
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	size_t wrong = env_expect(mail_address_is_valid(email), "--create-admin",
	                          "the first argument must be an e-mail address", &problems);
	if (dashboard)
		wrong += env_check_http_url(dashboard, "--create-admin", &problems);
	if (wrong > 0) {
		fprintf(stderr, "links-api: %s", problems.data);
	} else if (dashboard) {
		size_t scheme_len = (size_t)(strstr(dashboard, "://") - dashboard) + 3;
		size_t host_len = strcspn(dashboard + scheme_len, "/?#");
		snprintf(p.dashboard, sizeof(p.dashboard), "%.*s", (int)(scheme_len + host_len),
		         dashboard);
	}
	strbuf_clear(&problems);
	return wrong > 0 ? PROGRAM_EXIT_USAGE : run(&with_postgres, create_admin, &p);
}

static enum err republish(void *ctx, struct means *means)
{
	(void)ctx;
	return republish_run(means->conn, means->kafka, means->log);
}

/* --- fold-slugs --- */

struct folding {
	/* The links of the batch: those after the first id, up to the last. */
	int64_t after_id;
	int64_t last_id;
	int64_t folded;
};

static enum err find_batch(struct pg_conn *conn, struct folding *f)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, f->after_id);
	pg_params_int(&params, FOLD_BATCH_MAX);
	return pg_conn_query_int(
		conn,
		"SELECT COALESCE(max(id), 0) FROM ("
		"SELECT id FROM links WHERE slug_exact AND id > $1 UNION "
		"SELECT link_id FROM link_aliases WHERE slug_exact AND link_id > $1 "
		"ORDER BY id LIMIT $2) AS batch",
		&params, &f->last_id);
}

static enum err add_folded(struct pg_conn *conn, const struct pg_result *rows)
{
	struct outbox_bulk events;
	struct link_event event;
	enum err err = OK;
	outbox_bulk_init(&events, OUTBOX_BACKGROUND, pg_result_count(rows));
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		err = link_row_read(rows, i, &event.link);
		if (err == OK) {
			link_row_to_event(&event.link, LINK_CHANGE_UPDATED, &event);
			outbox_bulk_add(&events, &event);
		}
	}
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	return err;
}

/* Nothing else has had the slug of a row in another case: no link, no alias, no purged one. */
#define IS_ALONE(row)                                                                              \
	"(SELECT count(*) FROM links AS other WHERE other.slug_exact "                             \
	"AND lower(other.slug) = lower(" row ".slug)) + "                                          \
	"(SELECT count(*) FROM link_aliases AS other WHERE lower(other.slug) = lower(" row         \
	".slug)) = 1 "                                                                             \
	"AND NOT EXISTS (SELECT FROM links AS other WHERE other.slug_key = lower(" row ".slug)) "  \
	"AND NOT EXISTS (SELECT FROM link_tombstones AS gone WHERE lower(gone.slug) = lower(" row  \
	".slug))"

static enum err fold_links(struct pg_conn *conn, const struct folding *f, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, f->after_id);
	pg_params_int(&params, f->last_id);
	return pg_conn_query(
		conn,
		"WITH locked AS MATERIALIZED (SELECT id FROM links WHERE id > $1 AND id <= $2 "
		"AND (slug_exact OR alias_count > 0) ORDER BY id FOR UPDATE OF links), "
		"aliases AS (UPDATE link_aliases AS alias SET slug_exact = false WHERE slug_exact "
		"AND link_id = ANY (ARRAY(SELECT id FROM locked)) AND " IS_ALONE(
			"alias") " RETURNING link_id) "
				 "UPDATE links SET slug_exact = slug_exact AND NOT (" IS_ALONE(
					 "links") "), version = version + 1, updated_at = clock_timestamp() "
						  "WHERE id = ANY (ARRAY(SELECT id FROM locked)) AND "
						  "(id = ANY (ARRAY(SELECT link_id FROM aliases)) OR (slug_exact AND " IS_ALONE(
							  "links") ")) RETURNING " LINK_ROW_COLUMNS,
		&params, rows);
}

static enum err fold_batch(void *ctx, struct pg_conn *conn)
{
	struct folding *f = ctx;
	struct pg_result *rows = NULL;
	enum err err = fold_links(conn, f, &rows);
	if (err == OK)
		err = add_folded(conn, rows);
	if (err == OK)
		f->folded += (int64_t)pg_result_count(rows);
	pg_result_free(rows);
	return err;
}

static enum err print_pairs(struct pg_conn *conn)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT string_agg(slug, ', ' ORDER BY slug) FROM ("
		"SELECT slug FROM links WHERE slug_exact AND slug_chosen UNION ALL "
		"SELECT slug FROM link_aliases WHERE slug_exact AND slug_chosen) AS exact "
		"GROUP BY lower(slug) ORDER BY lower(slug)",
		NULL, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++)
		printf("links-api: found only as it is: %s\n", pg_result_text(rows, i, 0));
	pg_result_free(rows);
	return err;
}

static enum err fold(void *ctx, struct means *means)
{
	struct folding *f = ctx;
	struct pg_conn *conn = means->conn;
	enum err err;
	while ((err = find_batch(conn, f)) == OK && f->last_id > 0) {
		err = pg_pool_transact_on(conn, fold_batch, f);
		if (err != OK)
			break;
		f->after_id = f->last_id;
	}
	if (err == OK)
		err = print_pairs(conn);
	if (err == OK)
		printf("links-api: %" PRId64 " more links are found in either case\n", f->folded);
	else
		fprintf(stderr, "links-api: stopped (%s). Run it again\n", err_name(err));
	return err;
}

/* --- the command line --- */

int commands_run(int argc, char **argv)
{
	if ((argc == 3 || argc == 4) && strcmp(argv[1], "--create-admin") == 0)
		return run_create_admin(argv[2], argv[3]);
	if (argc == 2 && strcmp(argv[1], "--republish-links") == 0)
		return run(&with_kafka, republish, NULL);
	if (argc == 2 && strcmp(argv[1], "--fold-slugs") == 0) {
		struct folding folding = { 0 };
		return run(&with_postgres, fold, &folding);
	}
	return COMMANDS_NONE;
}
