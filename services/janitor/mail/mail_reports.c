#include "services/janitor/mail/mail_reports.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/mail_address.h"
#include "lib/json/json.h"
#include "lib/mail/mail_outbox.h"

/* Roll-ups have everything of the month by then. */
#define REPORT_HOUR 6
#define DAY_SIZE 16

struct person {
	int64_t id;
	char email[MAIL_ADDRESS_SIZE], locale[13];
	/* Gets mails of this kind. */
	bool wants;
};

/* How many of a kind may wait, so that they do not hold up the mails that people wait for. */
#define FEW_WAIT(kind_)                                                                            \
	"100 > (SELECT count(*) FROM mail_outbox WHERE kind = '" kind_ "' AND state = 'waiting')"

/* ERR_NOT_FOUND: nobody's turn. */
static enum err find_person(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                            struct person *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		out->id = pg_result_int(rows, 0, 0);
		snprintf(out->email, sizeof(out->email), "%s", pg_result_text(rows, 0, 1));
		snprintf(out->locale, sizeof(out->locale), "%s", pg_result_text(rows, 0, 2));
		out->wants = pg_result_bool(rows, 0, 3);
	}
	pg_result_free(rows);
	return err;
}

/* workspace_id 0: of none. An address to which no mail can be sent gets none. */
static enum err queue(struct pg_conn *conn, const char *kind, const struct person *to,
                      int64_t workspace_id, const struct json *data)
{
	enum err err = mail_outbox_add(conn, &(struct mail){ .kind = kind,
	                                                     .to = to->email,
	                                                     .locale = to->locale,
	                                                     .data = data,
	                                                     .workspace_id = workspace_id });
	return err == ERR_INVALID ? OK : err;
}

/* A link's row: its title, or its slug. detail "": the slug, if there is a title. */
static struct json *row_json(const struct pg_result *rows, size_t i, const char *detail)
{
	char slug[160];
	const char *title = pg_result_text(rows, i, 1);
	struct json *row = json_new_object();
	snprintf(slug, sizeof(slug), "/%s", pg_result_text(rows, i, 0));
	json_set_text(row, "name", *title ? title : slug);
	json_set_text(row, "detail", *detail ? detail : *title ? slug : "");
	return row;
}

static void set_dashboard(struct json *data, const struct run *run)
{
	if (run->config->dashboard_url[0])
		json_set_text(data, "url", run->config->dashboard_url);
}

/* --- dead links --- */

enum err mail_reports_note_dead(struct pg_conn *conn, int64_t link_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, link_id);
	return pg_conn_query(
		conn,
		"INSERT INTO dead_links (link_id, user_id) SELECT links.id, coalesce(m.user_id, w.sponsor_id) "
		"FROM links JOIN workspaces AS w ON w.id = workspace_id "
		"LEFT JOIN members AS m ON m.workspace_id = w.id AND m.user_id = links.created_by "
		"WHERE links.id = $1 ON CONFLICT (link_id) DO NOTHING",
		&params, NULL);
}

static struct json *dead_json(const struct run *run, const struct pg_result *rows)
{
	const size_t count = pg_result_count(rows);
	const int64_t all = pg_result_int(rows, 0, 4);
	struct json *data = json_new_object(), *links = json_new_array();
	for (size_t i = 0; i < count; i++) {
		char status[24];
		struct json *row = row_json(rows, i, pg_result_text(rows, i, 2));
		snprintf(status, sizeof(status), "%s", pg_result_text(rows, i, 3));
		/* 0: no answer */
		json_set_text(row, "value", strcmp(status, "0") == 0 ? NULL : status);
		json_append(links, row);
	}
	json_set_int(data, "count", all);
	json_set(data, "links", links);
	if (all > (int64_t)count)
		json_set_int(data, "more", all - (int64_t)count);
	set_dashboard(data, run);
	return data;
}

static enum err queue_dead(const struct run *run, const struct person *person)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, person->id);
	pg_params_int(&params, MAIL_REPORTS_DEAD_AFTER);
	pg_params_int(&params, MAIL_REPORTS_DEAD_LINKS);
	enum err err = pg_conn_query(
		run->conn,
		"WITH noted AS (DELETE FROM dead_links WHERE user_id = $1 RETURNING link_id) "
		"SELECT slug, title, original_url, destination_status, count(*) OVER () "
		"FROM noted JOIN links ON id = link_id WHERE state = 'ACTIVE' AND failed_checks >= $2 "
		"ORDER BY id LIMIT $3::bigint",
		&params, &rows);
	if (err == OK && person->wants && pg_result_count(rows) > 0) {
		struct json *data = dead_json(run, rows);
		err = queue(run->conn, MAIL_DESTINATION_DIED, person, 0, data);
		json_free(data);
		params = (struct pg_params){ 0 };
		pg_params_int(&params, person->id);
		if (err == OK)
			err = pg_conn_query(
				run->conn,
				"UPDATE users SET dead_links_mailed_at = clock_timestamp() WHERE id = $1",
				&params, NULL);
	}
	pg_result_free(rows);
	return err;
}

/* One person at a time. */
static enum err add_dead(const struct run *run, int64_t *changed)
{
	struct person person;
	enum err err = find_person(
		run->conn,
		"SELECT id, email, coalesce(locale, ''), mail_dead_links AND NOT blocked AND deleted_at IS NULL "
		"FROM users WHERE id IN (SELECT user_id FROM dead_links) "
		"AND (dead_links_mailed_at IS NULL OR dead_links_mailed_at < clock_timestamp() - interval '1 day') "
		"AND " FEW_WAIT(MAIL_DESTINATION_DIED) " ORDER BY id LIMIT 1",
		NULL, &person);
	if (err == ERR_NOT_FOUND)
		return OK;
	*changed = 1;
	return err == OK ? queue_dead(run, &person) : err;
}

/* --- the monthly report --- */

/* The first days: of the month of the report, of the one before, of the one after. */
struct months {
	char of[DAY_SIZE], before[DAY_SIZE], after[DAY_SIZE];
};

static void write_month(int64_t month, char out[static DAY_SIZE])
{
	snprintf(out, DAY_SIZE, "%04d-%02d-01", (int)(month / 12) % 10000, (int)(month % 12) + 1);
}

static struct months months_of(int64_t now_us)
{
	struct months months = { 0 };
	struct tm utc;
	const time_t s = (time_t)((now_us - REPORT_HOUR * CLOCK_US_PER_HOUR) / CLOCK_US_PER_S);
	gmtime_r(&s, &utc);
	const int64_t month = (utc.tm_year + INT64_C(1900)) * 12 + utc.tm_mon;
	write_month(month - 2, months.before);
	write_month(month - 1, months.of);
	write_month(month, months.after);
	return months;
}

static enum err add_top(const struct run *run, int64_t workspace_id, const struct months *months,
                        struct json *links)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, workspace_id);
	pg_params_text(&params, months->of);
	pg_params_text(&params, months->after);
	pg_params_int(&params, MAIL_REPORTS_TOP_LINKS);
	enum err err = pg_conn_query(
		run->conn,
		"WITH ranked AS MATERIALIZED ("
		"(SELECT link_id FROM link_ranking WHERE link_workspace = $1 ORDER BY visits DESC, link_id DESC LIMIT 500) "
		"UNION (SELECT link_id FROM link_ranking WHERE link_workspace = $1 ORDER BY visited_at DESC, link_id DESC LIMIT 500)), "
		"sums AS (SELECT link_id, sum(humans)::bigint AS humans FROM ranked JOIN rollup_day USING (link_id) "
		"WHERE day >= $2::date AND day < $3::date GROUP BY link_id) "
		"SELECT slug, title, humans FROM sums JOIN links ON id = link_id "
		"WHERE humans > 0 AND state <> 'DELETED' ORDER BY humans DESC, id LIMIT $4::bigint",
		&params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		struct json *row = row_json(rows, i, "");
		json_set_int(row, "value", pg_result_int(rows, i, 2));
		json_append(links, row);
	}
	pg_result_free(rows);
	return err;
}

/* Columns: id, name, visits of the month and of the one before. */
static enum err queue_report(const struct run *run, const struct person *person,
                             const struct months *months, const struct pg_result *rows, size_t i)
{
	if (pg_result_int(rows, i, 2) == 0)
		return OK;
	struct json *data = json_new_object(), *links = json_new_array();
	json_set_text(data, "workspace", pg_result_text(rows, i, 1));
	json_set_text(data, "month", months->of);
	json_set_int(data, "visits", pg_result_int(rows, i, 2));
	json_set_int(data, "before", pg_result_int(rows, i, 3));
	json_set(data, "links", links);
	set_dashboard(data, run);
	enum err err = add_top(run, pg_result_int(rows, i, 0), months, links);
	if (err == OK)
		err = queue(run->conn, MAIL_MONTHLY_REPORT, person, pg_result_int(rows, i, 0),
		            data);
	json_free(data);
	return err;
}

static enum err queue_reports(const struct run *run, const struct person *person,
                              const struct months *months)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, person->id);
	pg_params_text(&params, months->before);
	pg_params_text(&params, months->of);
	pg_params_text(&params, months->after);
	pg_params_int(&params, MAIL_REPORTS_WORKSPACES);
	enum err err = pg_conn_query(
		run->conn,
		"SELECT w.id, w.name, sums.visits, sums.before FROM (SELECT w.id, w.name, m.created_at "
		"FROM members AS m JOIN workspaces AS w ON w.id = m.workspace_id "
		"WHERE m.user_id = $1 AND w.deleted_at IS NULL ORDER BY m.created_at, w.id LIMIT $5::bigint) AS w, "
		"LATERAL (SELECT coalesce(sum(humans) FILTER (WHERE day >= $3::date), 0)::bigint AS visits, "
		"coalesce(sum(humans) FILTER (WHERE day < $3::date), 0)::bigint AS before "
		"FROM rollup_workspace_day WHERE workspace_id = w.id AND day >= $2::date AND day < $4::date) AS sums "
		"ORDER BY w.created_at, w.id",
		&params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++)
		err = queue_report(run, person, months, rows, i);
	pg_result_free(rows);
	return err;
}

static enum err add_month(const struct run *run, int64_t *changed)
{
	const struct months months = months_of(clock_now_us(run->clock));
	struct person person = { 0 };
	struct pg_params params = { 0 };
	pg_params_text(&params, months.of);
	enum err err =
		find_person(run->conn,
	                    "SELECT id, email, coalesce(locale, ''), true FROM users "
	                    "WHERE mail_monthly_report AND NOT blocked AND deleted_at IS NULL "
	                    "AND (month_reported IS NULL OR month_reported < $1::date) "
	                    "AND " FEW_WAIT(MAIL_MONTHLY_REPORT) " ORDER BY id LIMIT 1",
	                    &params, &person);
	if (err == ERR_NOT_FOUND)
		return OK;
	*changed = 1;
	pg_params_int(&params, person.id);
	if (err == OK)
		err = pg_conn_query(run->conn,
		                    "UPDATE users SET month_reported = $1::date WHERE id = $2",
		                    &params, NULL);
	return err == OK ? queue_reports(run, &person, &months) : err;
}

enum err mail_reports_add(struct run *run)
{
	int64_t people = 0;
	enum err err = run_until_unchanged(run, add_dead, &people);
	return err == OK ? run_until_unchanged(run, add_month, &people) : err;
}
