#include "services/links-api/statistics/visit_export.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/statistics/export_limiter.h"
#include "services/links-api/statistics/visit_lines.h"

#define PAGE_VISITS 500
/* A chunk ends with the row that exceeds this size. 500 visits usually take 200 KB. */
#define CHUNK_BYTES ((size_t)256 * 1024)

struct visit_export {
	const struct api *api;
	const struct http_exchange *exchange;
	int64_t user_id;
	bool is_csv;
	struct visit_filter filter;
	/* Of the next page: its cursor and limit change. */
	struct visit_page_query question;
	bool is_limited;
	/* Visits to send, if is_limited. */
	size_t left;
	bool has_begun;
	/* Of all chunks so far. */
	size_t bytes;
};

enum err visit_export_new(const struct request *r, bool is_csv,
                          const struct visit_page_query *question, struct visit_export **out)
{
	enum err err = export_limiter_acquire(r->api->exports, r->user_id);
	if (err != OK)
		return err;
	struct visit_export *export = mem_zero(sizeof(*export));
	export->api = r->api;
	export->exchange = r->exchange;
	export->user_id = r->user_id;
	export->is_csv = is_csv;
	export->filter = *question->filter;
	export->question = *question;
	export->question.filter = &export->filter;
	export->is_limited = question->limit > 0;
	export->left = question->limit;
	*out = export;
	return OK;
}

void visit_export_free(void *state)
{
	struct visit_export *export = state;
	if (!export)
		return;
	export_limiter_release(export->api->exports, export->user_id);
	free(export);
}

static void add_line(const struct visit_export *export, struct strbuf *out,
                     const struct pg_result *rows, size_t row)
{
	if (export->is_csv)
		visit_lines_add_csv(out, rows, row);
	else
		visit_lines_add_json(out, rows, row);
}

/* Adds as many rows as fit. The next page starts after the last of them. */
static size_t add_lines(struct visit_export *export, struct strbuf *out,
                        const struct pg_result *rows)
{
	size_t count = pg_result_count(rows);
	size_t row = 0;
	while (row < count && out->len < CHUNK_BYTES)
		add_line(export, out, rows, row++);
	if (row > 0)
		export->question.after = visit_page_cursor_of(rows, row - 1);
	return row;
}

enum err visit_export_next_chunk(struct visit_export *export, struct strbuf *out, bool *is_last)
{
	struct pg_conn *conn = NULL;
	struct pg_result *rows = NULL;
	export->question.limit =
		export->is_limited && export->left < PAGE_VISITS ? export->left : PAGE_VISITS;
	enum err err = pg_pool_acquire(export->api->heavy_pg, &conn);
	if (err == OK)
		err = visit_page_read(conn, &export->question, &rows);
	pg_pool_release(export->api->heavy_pg, conn);
	if (err != OK)
		return err;
	if (!export->has_begun && export->is_csv)
		visit_lines_add_csv_header(out);
	export->has_begun = true;
	size_t sent = add_lines(export, out, rows);
	if (export->is_limited)
		export->left -= sent;
	bool is_exhausted = sent == pg_result_count(rows) && sent < export->question.limit;
	*is_last = is_exhausted || (export->is_limited && export->left == 0);
	export->bytes += out->len;
	pg_result_free(rows);
	return OK;
}

enum http_chunk visit_export_body_reader(void *state, struct strbuf *out)
{
	struct visit_export *export = state;
	bool is_last = false;
	if (export_limiter_is_too_slow(http_exchange_taking_us(export->exchange), export->bytes)) {
		log_info(export->api->log, "export_too_slow",
		         LOG_INT("bytes", (int64_t) export->bytes));
		return HTTP_CHUNK_FAILED;
	}
	enum err err = visit_export_next_chunk(export, out, &is_last);
	if (err != OK) {
		log_warning(export->api->log, "export_broken", LOG_TEXT("error", err_name(err)));
		return HTTP_CHUNK_FAILED;
	}
	return is_last ? HTTP_CHUNK_LAST : HTTP_CHUNK_MORE;
}
