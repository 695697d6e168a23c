#include "tools/rebuild-stats/rebuild.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tools/rebuild-stats/rebuild_difference.h"
#include "tools/rebuild-stats/rebuild_repair.h"

/* Links per comparison. */
#define LINKS "200"
/* The session of a rebuild that has just ended may still hold the lock. */
#define LOCK_TRIES 40
#define LOCK_PAUSE_MS 50
/* The key spells "rebuild". */
#define LOCK_SQL "SELECT pg_try_advisory_lock(32196677577403492)::integer"
/*
 * Keeps the janitor from folding and from finishing days meanwhile. A step of the janitor that
 * holds the lock ends within a second.
 */
#define LOCK_ROLLUPS_SQL "SELECT pg_advisory_lock(rollup_lock_key())"
#define DAY_SIZE 32

struct totals {
	struct rebuild_difference before; /* found first, and repaired unless check_only */
	struct rebuild_difference after;  /* found by the second comparison */
	int64_t links;
};

static void add(struct rebuild_difference *sum, const struct rebuild_difference *part)
{
	for (int table = REBUILD_HOURS; table < REBUILD_TABLES; table++)
		sum->rows[table] += part->rows[table];
}

static enum err find(struct pg_conn *conn, int64_t first, int64_t last,
                     struct rebuild_difference *out)
{
	return last == REBUILD_DIFFERENCE_PLATFORM
	               ? rebuild_difference_find_platform(conn, out)
	               : rebuild_difference_find(conn, first, last, out);
}

/* Rebuilds the links from first to last, or the platform. */
static enum err rebuild(struct pg_conn *conn, const struct rebuild_options *options, int64_t first,
                        int64_t last, struct totals *totals)
{
	struct rebuild_difference found = { 0 };
	enum err err = find(conn, first, last, &found);
	if (err != OK)
		return err;
	add(&totals->before, &found);
	if (rebuild_difference_sum(&found) == 0 || options->check_only)
		return OK;
	err = rebuild_repair_add(conn);
	if (err == OK)
		err = find(conn, first, last, &found);
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
	return err == OK ? rebuild(conn, options, options->link_id, options->link_id, totals) : err;
}

/* Finds the next group of links after reached: the id of the last one, and their number. */
static enum err next_links(struct pg_conn *conn, int64_t reached, int64_t *last, int64_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, reached);
	enum err err = pg_conn_query(conn,
	                             "SELECT max(id), count(*) FROM "
	                             "(SELECT id FROM links WHERE id > $1 ORDER BY id LIMIT " LINKS
	                             ") next",
	                             &params, &rows);
	if (err == OK) {
		*last = pg_result_int(rows, 0, 0);
		*count = pg_result_int(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

/* --- accounts --- */

static enum err rebuild_account(struct pg_conn *conn, const struct rebuild_options *options,
                                int64_t account_id, struct totals *totals)
{
	struct rebuild_difference found = { 0 };
	enum err err = rebuild_difference_find_account(conn, account_id, &found);
	if (err != OK)
		return err;
	add(&totals->before, &found);
	if (rebuild_difference_sum(&found) == 0 || options->check_only)
		return OK;
	err = rebuild_repair_account(conn, account_id);
	if (err == OK)
		err = rebuild_difference_find_account(conn, account_id, &found);
	if (err == OK)
		add(&totals->after, &found);
	return err;
}

/* After the links, because the sums of their rows are what an account must have. */
static enum err rebuild_accounts(struct pg_conn *conn, const struct rebuild_options *options,
                                 struct totals *totals)
{
	struct pg_result *rows = NULL;
	enum err err = options->check_only ? OK : rebuild_repair_move_links(conn);
	if (err == OK)
		err = pg_conn_query(conn,
		                    "SELECT owner_id FROM rollup_account WHERE owner_id <> 0 UNION "
		                    "SELECT -link_id FROM rollup_hour WHERE link_id < 0 UNION "
		                    "SELECT -link_id FROM rollup_day WHERE link_id < 0 ORDER BY 1",
		                    NULL, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++)
		err = rebuild_account(conn, options, pg_result_int(rows, i, 0), totals);
	pg_result_free(rows);
	return err;
}

/* --- everything --- */

static enum err rebuild_all(struct pg_conn *conn, const struct rebuild_options *options,
                            struct totals *totals)
{
	int64_t reached = 0;
	int64_t last = 0;
	int64_t count = 0;
	enum err err;
	while ((err = next_links(conn, reached, &last, &count)) == OK && count > 0) {
		err = rebuild(conn, options, reached + 1, last, totals);
		if (err != OK)
			return err;
		reached = last;
		totals->links += count;
	}
	if (err == OK)
		err = rebuild_accounts(conn, options, totals);
	if (err == OK)
		err = rebuild(conn, options, REBUILD_DIFFERENCE_PLATFORM,
		              REBUILD_DIFFERENCE_PLATFORM, totals);
	if (err != ERR_NOT_FOUND)
		return err;
	printf("rebuild-stats: platform row skipped: it counts visits that the visit log no longer has\n");
	return OK;
}

static void print_difference(const char *what, const struct rebuild_difference *difference)
{
	printf("rebuild-stats: %s: %" PRId64 " rows of statistics, %" PRId64
	       " entries of hours, %" PRId64 " of days, %" PRId64 " of accounts\n",
	       what, difference->rows[REBUILD_STATISTICS], difference->rows[REBUILD_HOURS],
	       difference->rows[REBUILD_DAYS], difference->rows[REBUILD_ACCOUNTS]);
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
	return err == OK ? pg_conn_query(conn, LOCK_ROLLUPS_SQL, NULL, NULL) : err;
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
