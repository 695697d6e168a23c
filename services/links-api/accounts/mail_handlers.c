#include "lib/mail/mail_outbox.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/mail/mail_queue.h"

struct test {
	const struct request *request;
	struct user user;
};

static enum err find_user(void *ctx, struct pg_conn *conn)
{
	struct test *t = ctx;
	return user_store_get(conn, t->request->user_id, &t->user);
}

static enum err queue_test(void *ctx, struct pg_conn *conn)
{
	const struct test *t = ctx;
	const struct request *r = t->request;
	struct json *data = json_new_object();
	enum err err = mail_outbox_add(conn, &(struct mail){ .kind = MAIL_TEST,
	                                                     .to = t->user.email,
	                                                     .locale = t->user.settings.locale,
	                                                     .data = data });
	json_free(data);
	return err == OK ? audit_store_record(r, conn, "mail.test", AUDIT_STORE_USER, r->user_id,
	                                      NULL)
	                 : err;
}

enum http_progress mail_handlers_test(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct test test = { .request = r };
	struct rate_limit_rule rule;
	int64_t reset_s = 0;
	if (!mail_queue_is_on(r))
		return response_problem(
			r, 409, "no-mail",
			"This instance sends no mail. Set MAIL_FROM in links-api and in the janitor, "
			"and SMTP_URL in the janitor.");
	enum err err = pg_pool_transact(r->api->pg, find_user, &test);
	if (err == OK) {
		err = mail_queue_count(r, test.user.email, &rule, &reset_s);
		if (err == ERR_LIMIT)
			return response_rate_limited(r, &rule, reset_s);
	}
	if (err == OK)
		err = pg_pool_transact(r->api->pg, queue_test, &test);
	if (err == ERR_INVALID)
		return response_problem(r, 409, "no-mail",
		                        "No mail can be sent to your address. Change it first.");
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	json_set_text(response, "to", test.user.email);
	return response_json(r, 202, response);
}

static void set_time(struct json *object, const char *name, const struct pg_result *rows,
                     size_t row, int column)
{
	json_set_time(object, name, pg_result_time(rows, row, column));
}

static struct json *mail_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	(void)r;
	struct json *mail = json_new_object();
	json_set_int(mail, "id", pg_result_int(rows, row, 0));
	json_set_text(mail, "kind", pg_result_text(rows, row, 1));
	json_set_text(mail, "to", pg_result_text(rows, row, 2));
	json_set_text(mail, "state", pg_result_text(rows, row, 3));
	json_set_text(mail, "error", pg_result_text(rows, row, 4));
	set_time(mail, "created_at", rows, row, 5);
	set_time(mail, "next_attempt_at", rows, row, 6);
	set_time(mail, "ended_at", rows, row, 7);
	return mail;
}

enum http_progress mail_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	return response_rows(ctx, "mails",
	                     "SELECT id, kind, address, state, error, created_at, "
	                     "CASE WHEN state = 'waiting' THEN next_attempt_at END, ended_at "
	                     "FROM mail_outbox ORDER BY id DESC LIMIT 100",
	                     NULL, mail_json);
}
