#include "services/links-api/links/link_reuse_store.h"

#include "lib/links/link_row.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/http/request.h"

/* The index in the array follows the columns of the link. */
#define PLACE_COLUMN LINK_ROW_COLUMN_COUNT

/* True for a link that can be reused for the requested URL. */
#define FITS                                                                                       \
	"workspace_id = $1 AND state = 'ACTIVE' AND original_url = wanted_url "                    \
	"AND (expires_at IS NULL OR expires_at > clock_timestamp()) "                              \
	"AND (starts_at IS NULL OR starts_at <= clock_timestamp()) "                               \
	"AND features IN (0, 16) AND blocked_reason IS NULL "                                      \
	"AND " REQUEST_SEES_TAGS("tags", "$4") " "

/*
 * MATERIALIZED makes PostgreSQL use the index on destinations or the one on slugs. Otherwise it
 * would scan all links of the workspace in the order of created_at.
 */
static const char find_sql[] =
	"SELECT " LINK_ROW_COLUMNS ", place "
	"FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS input (wanted_url, wanted_slug, place) "
	"CROSS JOIN LATERAL (WITH same AS MATERIALIZED ("
	"SELECT * FROM links WHERE wanted_slug = '' "
	"AND hashtextextended(original_url, 0) = hashtextextended(wanted_url, 0) AND " FITS
	"UNION ALL SELECT * FROM links WHERE wanted_slug <> '' AND " LINK_ROW_ANSWERS_TO(
		"wanted_slug") " AND " FITS ") "
			       "SELECT * FROM same ORDER BY created_at DESC, id DESC LIMIT 1) AS newest";

static enum err read_rows(const struct pg_result *rows, struct link_reuse_store_lookup *lookups,
                          size_t count)
{
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		int64_t place = pg_result_int(rows, i, PLACE_COLUMN);
		if (place < 1 || (size_t)place > count)
			return ERR_INTERNAL;
		enum err err = link_row_read(rows, i, lookups[place - 1].link);
		if (err != OK)
			return err;
		lookups[place - 1].is_found = true;
	}
	return OK;
}

static enum err find(struct pg_conn *conn, int64_t workspace_id, const char *tags,
                     struct sql_column *urls, struct sql_column *slugs, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, workspace_id);
	enum err err = sql_column_param(urls, &params);
	if (err == OK)
		err = sql_column_param(slugs, &params);
	pg_params_text(&params, tags);
	return err == OK ? pg_conn_query(conn, find_sql, &params, rows) : err;
}

enum err link_reuse_store_find(struct pg_conn *conn, int64_t workspace_id, const char *tags,
                               struct link_reuse_store_lookup *lookups, size_t count)
{
	struct pg_result *rows = NULL;
	struct sql_column urls, slugs;
	if (count == 0 || count > LINK_REUSE_STORE_MAX)
		return count == 0 ? OK : ERR_LIMIT;
	sql_column_init_for(&urls, SQL_COLUMN_TEXT, count, LINK_URL_SIZE);
	sql_column_init_for(&slugs, SQL_COLUMN_TEXT, count, SLUG_SIZE);
	for (size_t i = 0; i < count; i++) {
		lookups[i].is_found = false;
		sql_column_add_text(&urls, lookups[i].original_url);
		sql_column_add_text(&slugs, lookups[i].slug ? lookups[i].slug : "");
	}
	enum err err = find(conn, workspace_id, tags, &urls, &slugs, &rows);
	if (err == OK)
		err = read_rows(rows, lookups, count);
	sql_column_clear(&urls);
	sql_column_clear(&slugs);
	pg_result_free(rows);
	return err;
}
