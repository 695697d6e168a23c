#include "services/links-api/statistics/visit_export.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/clicks/statistics_store.h"
#include "services/links-api/http/compression.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/statistics/stats_request.h"
#include "services/links-api/statistics/visit_page.h"
#include "services/links-api/statistics/visit_sql.h"

/* --- how many run at the same time --- */

#define SETTLING_US (60 * CLOCK_US_PER_S)

struct visit_export_limiter {
	pthread_mutex_t lock;
	/* Of each running export; 0 = free. */
	int64_t users[VISIT_EXPORT_MAX];
};

struct visit_export_limiter *visit_export_limiter_new(void)
{
	struct visit_export_limiter *limiter = mem_zero(sizeof(*limiter));
	pthread_mutex_init(&limiter->lock, NULL);
	return limiter;
}

void visit_export_limiter_free(struct visit_export_limiter *limiter)
{
	if (!limiter)
		return;
	pthread_mutex_destroy(&limiter->lock);
	free(limiter);
}

/* The last entry of a user, or NULL. *count: the number of entries of the user. */
static int64_t *find(struct visit_export_limiter *limiter, int64_t user_id, size_t *count)
{
	int64_t *found = NULL;
	*count = 0;
	for (size_t i = 0; i < VISIT_EXPORT_MAX; i++) {
		if (limiter->users[i] != user_id)
			continue;
		found = &limiter->users[i];
		(*count)++;
	}
	return found;
}

enum err visit_export_limiter_acquire(struct visit_export_limiter *limiter, int64_t user_id)
{
	size_t own, free_count;
	pthread_mutex_lock(&limiter->lock);
	find(limiter, user_id, &own);
	int64_t *entry = find(limiter, 0, &free_count);
	bool is_within_share = own == 0 || free_count > VISIT_EXPORT_MAX / 2;
	bool has_room = entry != NULL && is_within_share && own < VISIT_EXPORT_MAX_PER_USER;
	if (has_room)
		*entry = user_id;
	pthread_mutex_unlock(&limiter->lock);
	return has_room ? OK : ERR_LIMIT;
}

void visit_export_limiter_release(struct visit_export_limiter *limiter, int64_t user_id)
{
	size_t own;
	pthread_mutex_lock(&limiter->lock);
	int64_t *entry = find(limiter, user_id, &own);
	if (entry)
		*entry = 0;
	pthread_mutex_unlock(&limiter->lock);
}

bool visit_export_is_too_slow(int64_t taking_us, size_t bytes)
{
	return taking_us > SETTLING_US &&
	       (int64_t)bytes < taking_us / CLOCK_US_PER_S * VISIT_EXPORT_BYTES_PER_S_MIN;
}

/*
 * --- an export: each chunk is one page, which is read from PostgreSQL after the client has received
 * the previous chunk. A slow client therefore blocks neither a PostgreSQL connection nor a worker, no
 * transaction stays open, and memory holds one chunk. ---
 */

#define PAGE_VISITS 500
/* A chunk ends with the row that exceeds this size. 500 visits usually take 200 KB. */
#define CHUNK_BYTES ((size_t)256 * 1024)
#define CHUNK_BYTES_MAX (8 * 1024 * 1024)

struct visit_export {
	const struct api *api;
	const struct http_exchange *exchange;
	int64_t user_id;
	bool is_csv;
	struct visit_filter filter;
	/* Of question; owned. */
	struct sql_column link_ids;
	/* Of the next page: its cursor and limit change. */
	struct visit_page_query question;
	bool is_limited;
	/* Visits to send, if is_limited. */
	size_t left;
	bool has_begun;
	/* Of all chunks so far, before they are compressed. */
	size_t bytes;
	/* NULL: they are not. Owned. */
	struct compression_stream *compression;
};

/* Takes the links of the question. */
static enum err new_export(struct stats_request *stats, const struct visit_page_query *question,
                           struct visit_export **out)
{
	const struct request *r = stats->request;
	enum err err = visit_export_limiter_acquire(r->api->exports, r->user_id);
	if (err != OK)
		return err;
	struct visit_export *export = mem_zero(sizeof(*export));
	export->api = r->api;
	export->exchange = r->exchange;
	export->user_id = r->user_id;
	export->is_csv = stats->params.format == STATS_REQUEST_FORMAT_CSV;
	export->filter = *question->filter;
	export->question = *question;
	export->question.filter = &export->filter;
	if (question->link_ids) {
		export->link_ids = *question->link_ids;
		export->question.link_ids = &export->link_ids;
		stats->question.link_ids = NULL;
	}
	export->is_limited = question->limit > 0;
	export->left = question->limit;
	*out = export;
	return OK;
}

static void free_export(void *state)
{
	struct visit_export *export = state;
	if (!export)
		return;
	visit_export_limiter_release(export->api->exports, export->user_id);
	if (export->question.link_ids)
		sql_column_clear(&export->link_ids);
	compression_stream_free(export->compression);
	free(export);
}

static void add_line(const struct visit_export *export, struct strbuf *out,
                     const struct pg_result *rows, size_t row)
{
	if (export->is_csv)
		visit_page_add_csv(out, rows, row);
	else
		visit_page_add_json(out, rows, row);
}

/* Adds as many rows as fit. The next page starts after the last of them. */
static size_t add_lines(struct visit_export *export, struct strbuf *out,
                        const struct pg_result *rows)
{
	size_t count = pg_result_count(rows);
	size_t row = 0;
	while (row < count && out->len < CHUNK_BYTES)
		add_line(export, out, rows, row++);
	if (row < count)
		export->question.after = visit_page_cursor_of(rows, row - 1);
	return row;
}

static enum err next_chunk(struct visit_export *export, struct strbuf *out, bool *is_last)
{
	struct pg_conn *conn = NULL;
	struct pg_result *rows = NULL;
	struct visit_page_end end;
	export->question.limit =
		export->is_limited && export->left < PAGE_VISITS ? export->left : PAGE_VISITS;
	enum err err = pg_pool_acquire(export->api->heavy_pg, &conn);
	if (err == OK)
		err = visit_page_read(conn, &export->question, &rows, &end);
	pg_pool_release(export->api->heavy_pg, conn);
	if (err != OK)
		return err;
	if (!export->has_begun && export->is_csv)
		visit_page_add_csv_header(out);
	export->has_begun = true;
	export->question.after = end.next;
	size_t sent = add_lines(export, out, rows);
	if (export->is_limited)
		export->left -= sent;
	*is_last = (end.is_last && sent == pg_result_count(rows)) ||
	           (export->is_limited && export->left == 0);
	export->bytes += out->len;
	pg_result_free(rows);
	return OK;
}

/* Each chunk is flushed: the client can read its lines before the next one is made. */
static void compress(struct visit_export *export, struct strbuf *chunk, bool is_last)
{
	struct strbuf coded;
	if (!export->compression)
		return;
	strbuf_init(&coded, CHUNK_BYTES_MAX);
	compression_stream_add(export->compression, chunk->data, chunk->len, is_last, &coded);
	strbuf_reset(chunk);
	strbuf_add(chunk, coded.data, coded.len);
	strbuf_clear(&coded);
}

static enum http_chunk read_chunk(void *state, struct strbuf *out)
{
	struct visit_export *export = state;
	bool is_last = false;
	if (visit_export_is_too_slow(http_exchange_taking_us(export->exchange), export->bytes)) {
		log_info(export->api->log, "export_too_slow",
		         LOG_INT("bytes", (int64_t) export->bytes));
		return HTTP_CHUNK_FAILED;
	}
	enum err err = next_chunk(export, out, &is_last);
	if (err != OK) {
		log_warning(export->api->log, "export_broken", LOG_TEXT("error", err_name(err)));
		return HTTP_CHUNK_FAILED;
	}
	compress(export, out, is_last);
	return is_last ? HTTP_CHUNK_LAST : HTTP_CHUNK_MORE;
}

/* --- the request --- */

#define LIMIT_DEFAULT 100
#define LIMIT_MAX 1000
/* Longer than the retention of any visit log: without from, the list starts where the log does. */
#define LONGEST_US (3660 * CLOCK_US_PER_DAY)
#define HEADER_SIZE 96

/* In the order of enum stats_request_format, from STATS_REQUEST_FORMAT_JSON on. */
static const char *const media_types[] = { "application/json", "text/csv", "application/x-ndjson" };

static bool is_of_link(const struct request *r)
{
	return strstr(r->match.route->pattern, "{id}") != NULL;
}

/* Up to when a workspace's visits are complete, and do not change any more. */
static int64_t complete_until_us(const struct stats_request *stats)
{
	int64_t until_us = stats->as_of_us < stats->now_us ? stats->as_of_us : stats->now_us;
	return until_us > VISIT_EXPORT_SETTLING_US ? until_us - VISIT_EXPORT_SETTLING_US : 0;
}

static enum err load_context(struct stats_request *stats, struct pg_conn *conn)
{
	bool is_whole = !is_of_link(stats->request);
	enum err err = is_whole ? stats_request_find_links(stats, conn)
	                        : stats_request_find_link(stats, conn);
	if (err == OK)
		err = statistics_store_as_of(conn, &stats->as_of_us);
	if (err == OK)
		err = visit_sql_log_since(conn, &stats->question.reach.log_since_us);
	if (err == OK)
		err = stats_request_find_range(stats, conn);
	if (err == OK && is_whole && !stats->params.to.is_given)
		stats->question.requested.to_us = complete_until_us(stats);
	return err;
}

static enum err read_params(struct stats_request *stats, struct request *r)
{
	struct stats_request_terms terms = { STATS_REQUEST_LIMIT | STATS_REQUEST_FILTERS |
		                                     STATS_REQUEST_BOTS | STATS_REQUEST_CURSOR |
		                                     STATS_REQUEST_FORMAT,
		                             LIMIT_DEFAULT, LIMIT_MAX };
	if (!is_of_link(r))
		terms.parts |= STATS_REQUEST_LINKS;
	enum err err = stats_request_read(stats, r, &terms);
	struct stats_request_end *from = &stats->params.from;
	if (err == OK && !from->is_given) {
		from->is_given = true;
		from->time_us = stats->now_us > LONGEST_US ? stats->now_us - LONGEST_US : 0;
	}
	return err;
}

static struct visit_page_query page_of(const struct stats_request *stats)
{
	return (struct visit_page_query){
		.link_id = stats->question.link_id,
		.workspace_id = stats->request->workspace_id,
		.link_ids = stats->question.link_ids,
		.span = stats->question.requested,
		.filter = &stats->params.filter,
		.after = stats->params.after,
		.limit = (size_t)stats->params.limit,
	};
}

/* --- a page as JSON --- */

/*
 * Where a program goes on later: behind everything that is complete, unless it has seen more. It exists
 * also on the last page, and on an empty one.
 */
static struct visit_page_cursor resume_after(const struct stats_request *stats,
                                             const struct pg_result *rows,
                                             const struct visit_page_end *end)
{
	if (!end->is_last)
		return end->next;
	size_t count = pg_result_count(rows);
	struct visit_page_cursor seen =
		count > 0 ? visit_page_cursor_of(rows, count - 1) : stats->params.after;
	int64_t until_us = complete_until_us(stats);
	if (stats->question.requested.to_us < until_us)
		until_us = stats->question.requested.to_us;
	if (seen.event_id[0] != '\0' && seen.occurred_at_us >= until_us)
		return seen;
	return (struct visit_page_cursor){ until_us, VISIT_PAGE_NO_ID };
}

static struct json *render_page(const struct stats_request *stats, const struct pg_result *rows,
                                const struct visit_page_end *end)
{
	char next[VISIT_PAGE_CURSOR_SIZE], resume[VISIT_PAGE_CURSOR_SIZE];
	struct json *visits = json_new_array();
	for (size_t i = 0; i < pg_result_count(rows); i++)
		json_append(visits, visit_page_object(rows, i));
	struct pagination pagination = { .limit = stats->params.limit,
		                         .total = PAGINATION_UNCOUNTED };
	visit_page_cursor_format(&end->next, next);
	if (!end->is_last)
		pagination.next_cursor = next;
	struct json *answer = json_new_object();
	json_set(answer, "visits", visits);
	json_set(answer, "pagination", response_pagination_json(&pagination));
	if (stats->question.link_id == 0) {
		struct visit_page_cursor place = resume_after(stats, rows, end);
		visit_page_cursor_format(&place, resume);
		json_set_text(answer, "resume_cursor", resume);
		json_set_time(answer, "complete_until", complete_until_us(stats));
	}
	json_set_time(answer, "log_since", stats->question.reach.log_since_us);
	response_add_freshness(answer, stats->as_of_us, stats->now_us);
	return answer;
}

static enum http_progress answer_page(struct stats_request *stats, struct pg_conn *conn)
{
	struct request *r = stats->request;
	struct visit_page_query question = page_of(stats);
	struct visit_page_end end;
	struct pg_result *rows = NULL;
	enum err err = visit_page_read(conn, &question, &rows, &end);
	pg_pool_release(request_pg(r), conn);
	if (err != OK)
		return stats_request_answer_error(stats, err);
	enum http_progress progress = response_json(r, 200, render_page(stats, rows, &end));
	pg_result_free(rows);
	return progress;
}

/* --- an answer as an export --- */

static enum err add_time_header(struct http_exchange *x, const char *name, int64_t time_us)
{
	char value[HEADER_SIZE];
	timestamp_format_ms(time_us, value);
	return time_us > 0 ? http_exchange_add_header(x, name, value) : OK;
}

static enum err add_headers(struct stats_request *stats)
{
	struct http_exchange *x = stats->request->exchange;
	int64_t link_id = stats->question.link_id;
	char value[HEADER_SIZE], id[NUMBER_TEXT_SIZE + 1] = "";
	if (link_id != 0)
		snprintf(id, sizeof(id), "-%" PRId64, link_id);
	snprintf(value, sizeof(value), "attachment; filename=\"visits%s.%s\"", id,
	         stats->params.format == STATS_REQUEST_FORMAT_CSV ? "csv" : "ndjson");
	enum err err = http_exchange_add_header(x, "Content-Disposition", value);
	if (err == OK && link_id == 0)
		err = add_time_header(x, "X-Complete-Until", complete_until_us(stats));
	if (err == OK)
		err = add_time_header(x, "X-As-Of", stats->as_of_us);
	if (err != OK || stats->as_of_us == 0)
		return err;
	int64_t lag_us = stats->now_us - stats->as_of_us;
	snprintf(value, sizeof(value), "%" PRId64, lag_us > 0 ? lag_us / CLOCK_US_PER_MS : 0);
	return http_exchange_add_header(x, "X-Lag-Ms", value);
}

static enum http_progress answer_busy(struct request *r)
{
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "10");
	return response_problem(r, 429, "busy",
	                        "Too many exports are running. Wait until one of them ends.");
}

static void begin_body(struct request *r, struct visit_export *export, struct strbuf *chunk,
                       bool is_last)
{
	enum compression coding = response_choose_coding(r, is_last ? chunk->len : SIZE_MAX);
	if (coding != COMPRESSION_NONE) {
		export->compression = compression_stream_new(coding);
		http_exchange_add_fixed_header(r->exchange, "Content-Encoding",
		                               compression_name(coding));
	}
	compress(export, chunk, is_last);
	http_exchange_set_body(r->exchange,
	                       export->is_csv ? "text/csv; charset=utf-8; header=present"
	                                      : "application/x-ndjson",
	                       chunk->data, chunk->len);
	if (!is_last)
		http_exchange_set_body_reader(r->exchange, read_chunk, export);
}

/* Reads the first chunk now, so that an early error becomes a proper error response. */
static enum http_progress answer_export(struct stats_request *stats)
{
	struct request *r = stats->request;
	struct visit_page_query question = page_of(stats);
	struct visit_export *export = NULL;
	if (!stats->params.has_limit)
		question.limit = 0;
	enum err err = new_export(stats, &question, &export);
	if (err != OK)
		return answer_busy(r);
	r->handler_state = export;
	r->release_handler_state = free_export;
	struct strbuf chunk;
	bool is_last = false;
	strbuf_init(&chunk, CHUNK_BYTES_MAX);
	err = next_chunk(export, &chunk, &is_last);
	if (err == OK)
		err = add_headers(stats);
	if (err == OK)
		begin_body(r, export, &chunk, is_last);
	strbuf_clear(&chunk);
	return err == OK ? HTTP_COMPLETE : stats_request_answer_error(stats, err);
}

/*
 * format= takes precedence over Accept, because an HTML link cannot set Accept. ERR_NOT_FOUND:
 * Accept allows none of the formats.
 */
static enum err choose_format(struct stats_request *stats)
{
	size_t chosen;
	if (stats->params.format != STATS_REQUEST_FORMAT_NONE)
		return OK;
	enum err err = response_choose_type(
		http_exchange_joined_header(stats->request->exchange, "Accept"), media_types,
		ARRAY_SIZE(media_types), &chosen);
	if (err == OK)
		stats->params.format =
			(enum stats_request_format)(STATS_REQUEST_FORMAT_JSON + chosen);
	return err;
}

static enum http_progress answer(struct stats_request *stats, struct request *r)
{
	struct pg_conn *conn = NULL;
	enum err err = read_params(stats, r);
	if (err == OK && choose_format(stats) != OK)
		return response_problem(
			r, 406, NULL,
			"Accept must allow application/json, text/csv or application/x-ndjson.");
	if (err == OK)
		err = pg_pool_acquire(request_pg(r), &conn);
	if (err == OK)
		err = load_context(stats, conn);
	if (err == OK && stats->params.format == STATS_REQUEST_FORMAT_JSON)
		return answer_page(stats, conn);
	pg_pool_release(request_pg(r), conn);
	return err == OK ? answer_export(stats) : stats_request_answer_error(stats, err);
}

enum http_progress visit_export_list(void *ctx, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Vary", "Accept");
	struct stats_request *stats = mem_zero(sizeof(*stats));
	enum http_progress progress = answer(stats, ctx);
	stats_request_clear(stats);
	free(stats);
	return progress;
}
