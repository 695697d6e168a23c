#include "tools/rebuild-stats/rebuild.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tools/rebuild-stats/rebuild_difference.h"
#include "tools/rebuild-stats/rebuild_repair.h"

/* Links or accounts per comparison. */
#define PAGE "200"
/* The session of a rebuild that has just ended may still hold the lock. */
#define LOCK_TRIES 40
#define LOCK_PAUSE_MS 50
/* The key spells "rebuild". */
#define LOCK_SQL "SELECT pg_try_advisory_lock(32196677577403492)::integer"
#define DAY_SIZE 32

struct totals {
	/* Found first, and repaired unless check_only. */
	struct rebuild_difference before;
	/* Found by the second comparison. */
	struct rebuild_difference after;
	int64_t links;
};

static void add(struct rebuild_difference *sum, const struct rebuild_difference *part)
{
	for (size_t table = 0; table < ROLLUP_TABLES; table++)
		sum->rows[table] += part->rows[table];
	sum->statistics += part->statistics;
}

/* What is compared at once. */
struct page {
	enum rebuild_difference_scope scope;
	int64_t first, last;
};

static const struct page platform = { REBUILD_DIFFERENCE_LINKS, REBUILD_DIFFERENCE_PLATFORM,
	                              REBUILD_DIFFERENCE_PLATFORM };

static enum err find(struct pg_conn *conn, const struct page *page, struct rebuild_difference *out)
{
	return page->last == REBUILD_DIFFERENCE_PLATFORM
	               ? rebuild_difference_find_platform(conn, out)
	               : rebuild_difference_find(conn, page->scope, page->first, page->last, out);
}

static enum err rebuild(struct pg_conn *conn, const struct rebuild_options *options,
                        const struct page *page, struct totals *totals)
{
	struct rebuild_difference found = { 0 };
	enum err err = find(conn, page, &found);
	if (err != OK)
		return err;
	add(&totals->before, &found);
	if (rebuild_difference_sum(&found) == 0 || options->check_only)
		return OK;
	err = rebuild_repair_add(conn);
	if (err == OK)
		err = find(conn, page, &found);
	if (err == OK)
		add(&totals->after, &found);
	return err;
}

static enum err rebuild_one(struct pg_conn *conn, const struct rebuild_options *options,
                            struct totals *totals)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, options->link_id);
	enum err err = pg_conn_query_int(conn, "SELECT count(*) FROM links WHERE id = $1", &params,
	                                 &totals->links);
	if (err == OK && totals->links == 0)
		return ERR_NOT_FOUND;
	struct page page = { REBUILD_DIFFERENCE_LINKS, options->link_id, options->link_id };
	return err == OK ? rebuild(conn, options, &page, totals) : err;
}

/* Moves the page to the next links or accounts. *count: how many, 0 at the end. */
static enum err turn(struct pg_conn *conn, struct page *page, int64_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, page->last);
	enum err err = pg_conn_query(
		conn,
		page->scope == REBUILD_DIFFERENCE_LINKS
			? "SELECT max(id), count(*) FROM (SELECT id FROM links WHERE id > $1 ORDER BY id LIMIT " PAGE
			  ") AS next"
			: "SELECT max(id), count(*) FROM (SELECT id FROM workspaces WHERE id > $1 ORDER BY id LIMIT " PAGE
			  ") AS next",
		&params, &rows);
	if (err == OK) {
		page->first = page->last + 1;
		page->last = pg_result_int(rows, 0, 0);
		*count = pg_result_int(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

static enum err rebuild_pages(struct pg_conn *conn, const struct rebuild_options *options,
                              enum rebuild_difference_scope scope, struct totals *totals)
{
	struct page page = { .scope = scope };
	int64_t count = 0;
	enum err err = turn(conn, &page, &count);
	while (err == OK && count > 0) {
		err = rebuild(conn, options, &page, totals);
		if (scope == REBUILD_DIFFERENCE_LINKS)
			totals->links += count;
		if (err == OK)
			err = turn(conn, &page, &count);
	}
	return err;
}

static enum err rebuild_all(struct pg_conn *conn, const struct rebuild_options *options,
                            struct totals *totals)
{
	enum err err = rebuild_pages(conn, options, REBUILD_DIFFERENCE_LINKS, totals);
	if (err == OK)
		err = rebuild_pages(conn, options, REBUILD_DIFFERENCE_ACCOUNTS, totals);
	if (err == OK)
		err = rebuild(conn, options, &platform, totals);
	if (err != ERR_NOT_FOUND)
		return err;
	printf("rebuild-stats: platform row skipped: it counts visits that the visit log no longer has\n");
	return OK;
}

static void print_difference(const char *what, const struct rebuild_difference *difference)
{
	const int64_t *rows = difference->rows;
	printf("rebuild-stats: %s: %" PRId64 " rows of statistics, %" PRId64
	       " entries of hours, %" PRId64 " of days, %" PRId64 " of accounts\n",
	       what, difference->statistics, rows[ROLLUP_TABLE_LINK_HOURS],
	       rows[ROLLUP_TABLE_LINK_DAYS],
	       rows[ROLLUP_TABLE_WORKSPACE_HOURS] + rows[ROLLUP_TABLE_WORKSPACE_DAYS]);
}

static enum err report(const struct rebuild_options *options, const struct totals *totals,
                       const char *log_start)
{
	bool is_complete = strcmp(log_start, "-infinity") == 0;
	printf("rebuild-stats: %" PRId64 " links; the visit log %s%s\n", totals->links,
	       is_complete ? "is complete" : "begins on ", is_complete ? "" : log_start);
	print_difference(options->check_only ? "different from the visit log"
	                                     : "different from the visit log and repaired",
	                 &totals->before);
	const struct rebuild_difference *left =
		options->check_only ? &totals->before : &totals->after;
	if (!options->check_only)
		print_difference("still different", left);
	printf("rebuild-stats: %s\n", rebuild_difference_sum(left) == 0 ? "equal" : "NOT equal");
	return rebuild_difference_sum(left) == 0 ? OK : ERR_CONFLICT;
}

/* Two rebuilds at once would both apply the same differences. The lock ends with the session. */
static enum err lock(struct pg_conn *conn)
{
	int64_t is_locked = 0;
	enum err err = pg_conn_query_int(conn, LOCK_SQL, NULL, &is_locked);
	for (int tries = 1; err == OK && !is_locked && tries < LOCK_TRIES; tries++) {
		poll(NULL, 0, LOCK_PAUSE_MS);
		err = pg_conn_query_int(conn, LOCK_SQL, NULL, &is_locked);
	}
	if (err == OK && !is_locked)
		return ERR_LIMIT;
	return err;
}

enum err rebuild_run(struct pg_conn *conn, const struct rebuild_options *options)
{
	struct totals totals = { 0 };
	char log_start[DAY_SIZE] = "";
	enum err err = options->check_only ? OK : lock(conn);
	if (err == OK)
		err = rebuild_difference_prepare(conn);
	if (err == OK)
		err = rebuild_repair_prepare(conn);
	if (err == OK)
		err = rebuild_difference_log_start(conn, log_start, sizeof(log_start));
	if (err == OK)
		err = options->link_id ? rebuild_one(conn, options, &totals)
		                       : rebuild_all(conn, options, &totals);
	return err == OK ? report(options, &totals, log_start) : err;
}
