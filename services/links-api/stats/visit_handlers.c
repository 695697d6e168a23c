#include "services/links-api/stats/visit_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/timestamp.h"
#include "services/links-api/answer.h"
#include "services/links-api/media_type.h"
#include "services/links-api/stats/stats_asking.h"
#include "services/links-api/stats/visit_cursor.h"
#include "services/links-api/stats/visit_export.h"
#include "services/links-api/stats/visit_lines.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000
/* Longer than any log is kept: without from the list begins where the log does. */
#define LONGEST_US (3660 * CLOCK_US_PER_DAY)
#define PIECE_BYTES_MAX (8 * 1024 * 1024)
#define HEADER_SIZE 96

/* In the order of enum stats_query_format. */
enum form { FORM_JSON, FORM_CSV, FORM_NDJSON };
static const char *const forms[] = {
	[FORM_JSON] = "application/json",
	[FORM_CSV] = "text/csv",
	[FORM_NDJSON] = "application/x-ndjson",
};
#define FORM_COUNT (sizeof(forms) / sizeof(forms[0]))

static enum err find_on(struct stats_asking *asking, struct pg_conn *conn)
{
	enum err err = stats_asking_find_link(asking, conn);
	if (err == OK)
		err = stats_asking_find_freshness(asking, conn);
	if (err == OK)
		err = statistics_query_log_since(conn, &asking->question.log_since_us);
	if (err == OK)
		err = stats_asking_find_range(asking, conn);
	return err;
}

static enum err read_query(struct stats_asking *asking, struct request *r)
{
	static const struct stats_query_terms terms = { STATS_QUERY_LIMIT | STATS_QUERY_FILTERS | STATS_QUERY_BOTS |
		                                                STATS_QUERY_CURSOR | STATS_QUERY_FORMAT,
		                                        LIMIT_DEFAULT, LIMIT_MAX };
	enum err err = stats_asking_read(asking, r, &terms);
	struct stats_query_end *from = &asking->query.from;
	if (err == OK && !from->is_given) {
		from->is_given = true;
		from->time_us = asking->freshness.now_us > LONGEST_US ? asking->freshness.now_us - LONGEST_US : 0;
	}
	return err;
}

static struct visit_page_question page_of(const struct stats_asking *asking)
{
	return (struct visit_page_question){
		.link_id = asking->question.link_id,
		.span = asking->question.asked,
		.filter = &asking->query.filter,
		.behind = asking->query.behind,
		.limit = (size_t)asking->query.limit,
	};
}

/* --- a page --- */

static struct json *tell_page(const struct stats_asking *asking, const struct pg_result *rows)
{
	char cursor[VISIT_CURSOR_SIZE];
	size_t count = pg_result_count(rows);
	struct json *visits = json_new_array();
	for (size_t i = 0; i < count; i++)
		json_append(visits, visit_lines_object(rows, i));
	struct json *pagination = json_new_object();
	json_set_int(pagination, "limit", asking->query.limit);
	if (count < (size_t)asking->query.limit) {
		json_set_null(pagination, "next_cursor");
	} else {
		struct visit_page_place last = visit_page_place_of(rows, count - 1);
		visit_cursor_format(&last, cursor);
		json_set_text(pagination, "next_cursor", cursor);
	}
	struct json *answer = json_new_object();
	json_set(answer, "visits", visits);
	json_set(answer, "pagination", pagination);
	json_set_time(answer, "log_since", asking->question.log_since_us);
	stats_json_add_freshness(answer, &asking->freshness);
	return answer;
}

static enum http_progress answer_page(struct stats_asking *asking, struct pg_conn *conn)
{
	struct request *r = asking->r;
	struct visit_page_question question = page_of(asking);
	struct pg_result *rows = NULL;
	enum err err = visit_page_read(conn, &question, &rows);
	pg_pool_give(r->api->pg, conn);
	if (err != OK)
		return stats_asking_answer_failure(asking, err);
	enum http_progress progress = answer_json(r, 200, tell_page(asking, rows));
	pg_result_free(rows);
	return progress;
}

/* --- an export --- */

static enum err add_headers(struct stats_asking *asking, enum form form)
{
	struct http_exchange *x = asking->r->exchange;
	char value[HEADER_SIZE];
	snprintf(value, sizeof(value), "attachment; filename=\"visits-%" PRId64 ".%s\"", asking->question.link_id,
	         form == FORM_CSV ? "csv" : "ndjson");
	enum err err = http_exchange_add_header(x, "Content-Disposition", value);
	if (err != OK || asking->freshness.as_of_us == 0)
		return err;
	timestamp_format_ms(asking->freshness.as_of_us, value);
	err = http_exchange_add_header(x, "X-As-Of", value);
	int64_t lag_us = asking->freshness.now_us - asking->freshness.as_of_us;
	snprintf(value, sizeof(value), "%" PRId64, lag_us > 0 ? lag_us / CLOCK_US_PER_MS : 0);
	return err == OK ? http_exchange_add_header(x, "X-Lag-Ms", value) : err;
}

static enum http_progress answer_busy(struct request *r)
{
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "10");
	return answer_problem(r, 429, "busy", "Too many exports are under way; please wait for the end of one.");
}

/* The first piece now, so that what fails at once is an answer of its own; the others while they are sent. */
static enum http_progress answer_export(struct stats_asking *asking, enum form form)
{
	struct request *r = asking->r;
	struct visit_page_question question = page_of(asking);
	struct visit_export *export = NULL;
	if (!asking->query.has_limit)
		question.limit = 0;
	enum err err = visit_export_new(r->api, r->user_id, form == FORM_CSV ? VISIT_EXPORT_CSV : VISIT_EXPORT_NDJSON,
	                                &question, &export);
	if (err != OK)
		return answer_busy(r);
	r->errand = export;
	r->release_errand = visit_export_free;
	struct strbuf piece;
	bool is_last = false;
	strbuf_init(&piece, PIECE_BYTES_MAX);
	err = visit_export_next(export, &piece, &is_last);
	if (err == OK)
		err = add_headers(asking, form);
	if (err == OK) {
		http_exchange_set_body(r->exchange,
		                       form == FORM_CSV ? "text/csv; charset=utf-8; header=present" : forms[form],
		                       piece.data, piece.len);
		if (!is_last)
			http_exchange_set_source(r->exchange, visit_export_source, export);
	}
	strbuf_clear(&piece);
	return err == OK ? HTTP_ANSWERED : stats_asking_answer_failure(asking, err);
}

/* A link in a page cannot choose what its browser accepts: format goes first. ERR_NOT_FOUND: there is no such form. */
static enum err choose_form(const struct stats_asking *asking, enum form *form)
{
	size_t chosen = FORM_JSON;
	enum err err = OK;
	if (asking->query.format != STATS_QUERY_FORMAT_NONE)
		chosen = (size_t)(asking->query.format - STATS_QUERY_FORMAT_JSON);
	else
		err = media_type_choose(http_exchange_joined_header(asking->r->exchange, "Accept"), forms, FORM_COUNT,
		                        &chosen);
	*form = (enum form)chosen;
	return err;
}

static enum http_progress answer(struct stats_asking *asking, struct request *r)
{
	struct pg_conn *conn = NULL;
	enum form form = FORM_JSON;
	enum err err = read_query(asking, r);
	if (err == OK && choose_form(asking, &form) != OK)
		return answer_problem(r, 406, NULL, "There is application/json, text/csv and application/x-ndjson.");
	if (err == OK)
		err = pg_pool_take(r->api->pg, &conn);
	if (err == OK)
		err = find_on(asking, conn);
	if (err == OK && form == FORM_JSON)
		return answer_page(asking, conn);
	pg_pool_give(r->api->pg, conn);
	return err == OK ? answer_export(asking, form) : stats_asking_answer_failure(asking, err);
}

enum http_progress visit_handlers_list(void *ctx, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Vary", "Accept");
	struct stats_asking *asking = mem_zero(sizeof(*asking));
	enum http_progress progress = answer(asking, ctx);
	free(asking);
	return progress;
}
