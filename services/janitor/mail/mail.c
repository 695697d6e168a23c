#include "services/janitor/mail/mail.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/metrics.h"
#include "lib/base/timestamp.h"
#include "services/janitor/mail/mail_render.h"
#include "services/janitor/mail/mail_reports.h"
#include "services/janitor/mail/smtp.h"

/* A run claims no more mails after this time; the next one continues. */
#define RUN_US (30 * CLOCK_US_PER_S)
#define FIRST_RETRY_S 60
/* Attempts that nothing is known about. */
#define UNKNOWN_MAX 2

struct outgoing {
	int64_t id, created_at_us, attempts, failures;
	char kind[33], address[MAIL_ADDRESS_SIZE], locale[13];
	/* Owned; NULL: no mail was due. */
	struct json *data;
};

/* The context of every batch. */
struct sender {
	struct run *run;
	struct smtp_server server;
	/* NULL: no mail was due so far. */
	struct smtp_session *session;
	char from_name[MAIL_ADDRESS_NAME_SIZE], from[MAIL_ADDRESS_SIZE];
	struct outgoing mail;
	/* What becomes of it: "refused" or "given_up". */
	const char *end;
	char reason[SMTP_REASON_SIZE];
	int64_t retry_s;
	enum smtp_outcome outcome;
};

void mail_metrics_init(struct run_mail_metrics *out, struct metrics *metrics)
{
	static const char name[] = "waymark_mails_total", help[] = "Mails, by what became of them.";
	out->sent = metrics_counter(metrics, name, help, "outcome=\"sent\"");
	out->refused = metrics_counter(metrics, name, help, "outcome=\"refused\"");
	out->given_up = metrics_counter(metrics, name, help, "outcome=\"given_up\"");
	out->failed_attempts = metrics_counter(
		metrics, "waymark_mail_failed_attempts_total",
		"Attempts to send a mail that are repeated: the server was away or deferred it.",
		NULL);
}

int64_t mail_retry_s(int64_t failures)
{
	int64_t s = FIRST_RETRY_S;
	for (int64_t i = 1; i < failures && s < MAIL_RETRY_S_MAX; i++)
		s *= 2;
	return s < MAIL_RETRY_S_MAX ? s : MAIL_RETRY_S_MAX;
}

/* --- batches --- */

static enum err run_in_batch(struct sender *s, run_work work)
{
	int64_t rows = 0;
	s->run->ctx = s;
	return run_batch(s->run, work, &rows);
}

static enum err delete_ended(struct run *run)
{
	struct pg_params params = { 0 };
	int64_t deleted = 0;
	pg_params_int(&params, MAIL_KEEP_S);
	return run_delete(
		run,
		"DELETE FROM mail_outbox WHERE id = ANY (ARRAY(SELECT id FROM mail_outbox "
		"WHERE state <> 'waiting' AND ended_at < clock_timestamp() - $1::bigint * interval '1 second' "
		"LIMIT $2::bigint))",
		&params, &deleted);
}

/* Data that cannot be read has no kind, and so is not sent. */
static void read_claimed(const struct pg_result *rows, struct outgoing *out)
{
	char reason[JSON_REASON_SIZE];
	const char *data = pg_result_text(rows, 0, 7);
	out->id = pg_result_int(rows, 0, 0);
	out->created_at_us = pg_result_time(rows, 0, 1);
	out->attempts = pg_result_int(rows, 0, 2);
	out->failures = pg_result_int(rows, 0, 3);
	snprintf(out->kind, sizeof(out->kind), "%s", pg_result_text(rows, 0, 4));
	snprintf(out->address, sizeof(out->address), "%s", pg_result_text(rows, 0, 5));
	snprintf(out->locale, sizeof(out->locale), "%s", pg_result_text(rows, 0, 6));
	if (json_parse(data, strlen(data), &out->data, reason) != OK) {
		out->data = json_new_object();
		out->kind[0] = '\0';
	}
}

static enum err claim(const struct run *run, int64_t *changed)
{
	struct sender *s = run->ctx;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	(void)changed;
	pg_params_int(&params, MAIL_CLAIM_S);
	enum err err = pg_conn_query(
		run->conn,
		"UPDATE mail_outbox SET attempts = attempts + 1, "
		"next_attempt_at = clock_timestamp() + $1::bigint * interval '1 second' "
		"WHERE id = (SELECT id FROM mail_outbox WHERE state = 'waiting' "
		"AND next_attempt_at <= clock_timestamp() ORDER BY next_attempt_at LIMIT 1 FOR UPDATE) "
		"RETURNING id, created_at, attempts, failures, kind, address, locale, data",
		&params, &rows);
	if (err == OK && pg_result_count(rows) == 1)
		read_claimed(rows, &s->mail);
	pg_result_free(rows);
	return err;
}

/* It will not be sent. */
static enum err end(const struct run *run, int64_t *changed)
{
	const struct sender *s = run->ctx;
	struct pg_params params = { 0 };
	pg_params_int(&params, s->mail.id);
	pg_params_text(&params, s->end);
	pg_params_text(&params, s->reason);
	*changed = 1;
	return pg_conn_query(
		run->conn,
		"WITH ended AS (UPDATE mail_outbox SET state = $2, ended_at = clock_timestamp(), data = '{}', "
		"error = $3 WHERE id = $1 RETURNING id, kind, workspace_id) "
		"INSERT INTO audit_log (action, subject_type, subject_id, workspace_id, details) "
		"SELECT 'mail.' || $2, 'mail', id, workspace_id, jsonb_build_object('kind', kind) FROM ended",
		&params, NULL);
}

/* A server that is away counts as no attempt. */
static enum err postpone(const struct run *run, int64_t *changed)
{
	const struct sender *s = run->ctx;
	struct pg_params params = { 0 };
	(void)changed;
	pg_params_int(&params, s->mail.id);
	pg_params_text(&params, s->reason);
	pg_params_int(&params, s->retry_s);
	pg_params_int(&params, s->outcome == SMTP_UNAVAILABLE);
	pg_params_int(&params, s->outcome == SMTP_DEFERRED);
	return pg_conn_query(
		run->conn,
		"UPDATE mail_outbox SET attempts = attempts - $4::integer, failures = failures + $5::integer, "
		"error = $2, next_attempt_at = clock_timestamp() + $3::bigint * interval '1 second' WHERE id = $1",
		&params, NULL);
}

/* In no batch: a mail that was sent ends, also when another janitor has the lock meanwhile. */
static enum err delete_sent(const struct sender *s)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, s->mail.id);
	return pg_conn_query(s->run->conn, "DELETE FROM mail_outbox WHERE id = $1", &params, NULL);
}

/* --- one mail --- */

static enum err give_up(struct sender *s, const char *how, const char *reason)
{
	s->end = how;
	if (reason)
		snprintf(s->reason, sizeof(s->reason), "%s", reason);
	enum err err = run_in_batch(s, end);
	if (err != OK)
		return err;
	bool is_refused = strcmp(how, "refused") == 0;
	metrics_add(is_refused ? s->run->mail.refused : s->run->mail.given_up, 1);
	log_warning(s->run->log, is_refused ? "mail_refused" : "mail_given_up",
	            LOG_INT("mail_id", s->mail.id), LOG_TEXT("kind", s->mail.kind),
	            LOG_TEXT("reason", s->reason));
	return OK;
}

/* NULL: it may be sent. */
static const char *too_late(const struct outgoing *mail, int64_t now_us)
{
	int64_t expires_at_us;
	const struct json *expires_at = json_get(mail->data, "expires_at");
	if (now_us - mail->created_at_us > MAIL_KEEP_S * CLOCK_US_PER_S)
		return "a week has passed";
	if (expires_at && json_type(expires_at) == JSON_TEXT &&
	    timestamp_parse(json_text(expires_at, NULL), &expires_at_us) == OK &&
	    expires_at_us <= now_us)
		return "its link has expired";
	return mail->attempts - 1 - mail->failures >= UNKNOWN_MAX
	               ? "twice, nobody knows if the server took it"
	               : NULL;
}

static void settings_url(const struct config *config, char *out, size_t size)
{
	const char *base = config->dashboard_url;
	size_t len = strlen(base);
	snprintf(out, size, *base ? "%s%saccount" : "%s%s", base,
	         *base && base[len - 1] != '/' ? "/" : "");
}

static enum err render(const struct sender *s, struct mail_forms *forms)
{
	char settings[SMTP_URL_SIZE];
	settings_url(s->run->config, settings, sizeof(settings));
	const struct mail_source source = { .kind = s->mail.kind,
		                            .locale = s->mail.locale,
		                            .data = s->mail.data,
		                            .sender = s->from_name[0] ? s->from_name : s->from,
		                            .settings = settings };
	return mail_render(&source, forms);
}

static void send_forms(struct sender *s, const struct mail_forms *forms)
{
	const struct smtp_mail mail = { .id = s->mail.id,
		                        .created_at_us = s->mail.created_at_us,
		                        .now_us = clock_now_us(s->run->clock),
		                        .from_name = s->from_name,
		                        .from = s->from,
		                        .to = s->mail.address,
		                        .subject = forms->subject.data,
		                        .text = forms->text.data,
		                        .html = forms->html.data };
	if (!s->session)
		s->session = smtp_session_new(&s->server);
	s->outcome = smtp_send(s->session, &mail, s->reason);
}

static enum err record(struct sender *s)
{
	if (s->outcome == SMTP_SENT) {
		metrics_add(s->run->mail.sent, 1);
		return delete_sent(s);
	}
	if (s->outcome == SMTP_REFUSED)
		return give_up(s, "refused", NULL);
	s->retry_s = s->outcome == SMTP_UNAVAILABLE ? MAIL_SERVER_RETRY_S
	             : s->outcome == SMTP_UNKNOWN   ? MAIL_CLAIM_S
	                                            : mail_retry_s(s->mail.failures + 1);
	enum err err = run_in_batch(s, postpone);
	metrics_add(s->run->mail.failed_attempts, 1);
	if (s->outcome == SMTP_DEFERRED)
		log_info(s->run->log, "mail_deferred", LOG_INT("mail_id", s->mail.id),
		         LOG_TEXT("kind", s->mail.kind), LOG_TEXT("reason", s->reason));
	else
		log_limited_warning(s->run->log, "mail_server_failed",
		                    LOG_TEXT("reason", s->reason));
	return err;
}

static enum err deliver(struct sender *s)
{
	const char *late = too_late(&s->mail, clock_now_us(s->run->clock));
	if (late)
		return give_up(s, "given_up", late);
	struct mail_forms forms;
	mail_render_init(&forms);
	enum err err = render(s, &forms);
	if (err == OK)
		send_forms(s, &forms);
	mail_render_clear(&forms);
	return err == OK ? record(s) : give_up(s, "given_up", "it cannot be written");
}

/* --- one run --- */

/* Ends when nothing is due, after a while, and when the server does not do its part. */
static enum err send_due(struct sender *s, int64_t *changed)
{
	const int64_t started_us = clock_steady_us(s->run->clock);
	enum err err = OK;
	do {
		if (shutdown_requested(s->run->shutdown)) {
			s->run->is_interrupted = true;
			return OK;
		}
		s->mail = (struct outgoing){ 0 };
		s->outcome = SMTP_SENT;
		err = run_in_batch(s, claim);
		if (err != OK || !s->mail.data)
			return err;
		err = deliver(s);
		json_free(s->mail.data);
		*changed += err == OK && (s->outcome == SMTP_SENT || s->outcome == SMTP_REFUSED);
	} while (err == OK && s->outcome != SMTP_UNAVAILABLE && s->outcome != SMTP_UNKNOWN &&
	         clock_steady_us(s->run->clock) - started_us < RUN_US);
	return err;
}

enum err mail_run(struct run *run, int64_t *changed)
{
	const char *reason;
	struct sender *s = mem_zero(sizeof(*s));
	s->run = run;
	enum err err = smtp_server_parse(run->config->smtp_url, &s->server, &reason);
	if (err == OK)
		err = mail_address_split(run->config->mail_from, s->from_name, s->from);
	if (err == OK)
		err = mail_reports_add(run);
	if (err == OK)
		err = delete_ended(run);
	if (err == OK)
		err = send_due(s, changed);
	smtp_session_free(s->session);
	run->ctx = NULL;
	explicit_bzero(&s->server, sizeof(s->server));
	free(s);
	return err;
}
