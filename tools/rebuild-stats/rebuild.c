#include "tools/rebuild-stats/rebuild.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "tools/rebuild-stats/rebuild_difference.h"
#include "tools/rebuild-stats/rebuild_repair.h"

/* Links of one look. */
#define LINKS "200"
/* A session of one that has just ended may still hold it. */
#define LOCK_TRIES 40
#define LOCK_PAUSE_MS 50
/* "rebuild", as a number. */
#define LOCK_SQL "SELECT pg_try_advisory_lock(32196677577403492)::integer"
/* No day is finished meanwhile; who is at it now needs less than a second. */
#define NOT_FINISHING_SQL "SELECT pg_advisory_lock_shared(finished_days_locks(), 64)"
#define DAY_SIZE 32

struct tally {
	struct rebuild_difference before; /* repaired, unless it only checked */
	struct rebuild_difference after;  /* what a second look still found */
	int64_t links;
};

static void add(struct rebuild_difference *sum, const struct rebuild_difference *part)
{
	for (int book = REBUILD_QUARTERS; book < REBUILD_TABLES; book++)
		sum->rows[book] += part->rows[book];
}

static enum err find(struct pg_conn *conn, int64_t first, int64_t last, struct rebuild_difference *out)
{
	return last == REBUILD_DIFFERENCE_PLATFORM ? rebuild_difference_find_platform(conn, out)
	                                           : rebuild_difference_find(conn, first, last, out);
}

/* The links from first to last, or the platform. */
static enum err rebuild(struct pg_conn *conn, const struct rebuild_options *wish, int64_t first, int64_t last,
                        struct tally *tally)
{
	struct rebuild_difference found = { 0 };
	enum err err = find(conn, first, last, &found);
	if (err != OK)
		return err;
	add(&tally->before, &found);
	if (rebuild_difference_sum(&found) == 0 || wish->check_only)
		return OK;
	err = rebuild_repair_add(conn);
	if (err == OK)
		err = find(conn, first, last, &found);
	if (err == OK)
		add(&tally->after, &found);
	return err;
}

static enum err rebuild_one(struct pg_conn *conn, const struct rebuild_options *wish, struct tally *tally)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, wish->link_id);
	enum err err = pg_conn_query_int(conn, "SELECT count(*) FROM links WHERE id = $1", &params, &tally->links);
	if (err == OK && tally->links == 0)
		return ERR_NOT_FOUND;
	return err == OK ? rebuild(conn, wish, wish->link_id, wish->link_id, tally) : err;
}

/* The last of the next links after reached, and how many they are. */
static enum err next_links(struct pg_conn *conn, int64_t reached, int64_t *last, int64_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, reached);
	enum err err = pg_conn_query(conn,
	                             "SELECT max(id), count(*) FROM "
	                             "(SELECT id FROM links WHERE id > $1 ORDER BY id LIMIT " LINKS ") next",
	                             &params, &rows);
	if (err == OK) {
		*last = pg_result_int(rows, 0, 0);
		*count = pg_result_int(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

static enum err rebuild_all(struct pg_conn *conn, const struct rebuild_options *wish, struct tally *tally)
{
	int64_t reached = 0;
	int64_t last = 0;
	int64_t count = 0;
	enum err err;
	while ((err = next_links(conn, reached, &last, &count)) == OK && count > 0) {
		err = rebuild(conn, wish, reached + 1, last, tally);
		if (err != OK)
			return err;
		reached = last;
		tally->links += count;
	}
	if (err == OK)
		err = rebuild(conn, wish, REBUILD_DIFFERENCE_PLATFORM, REBUILD_DIFFERENCE_PLATFORM, tally);
	if (err != ERR_NOT_FOUND)
		return err;
	printf("rebuild-stats: the platform's row counts clicks that the log does not have any more; it was not looked at\n");
	return OK;
}

static void say(const char *what, const struct rebuild_difference *difference)
{
	printf("rebuild-stats: %s: %" PRId64 " rows of statistics, %" PRId64 " of quarters, %" PRId64
	       " of hours, %" PRId64 " of days\n",
	       what, difference->rows[REBUILD_STATISTICS], difference->rows[REBUILD_QUARTERS],
	       difference->rows[REBUILD_HOURS],
	       difference->rows[REBUILD_DAY_TOTALS] + difference->rows[REBUILD_DAY_VALUES]);
}

static enum err report(const struct rebuild_options *wish, const struct tally *tally, const char *begin_of_log)
{
	bool is_whole = strcmp(begin_of_log, "-infinity") == 0;
	printf("rebuild-stats: %" PRId64 " links, the visit log %s%s\n", tally->links,
	       is_whole ? "is whole" : "begins on ", is_whole ? "" : begin_of_log);
	say(wish->check_only ? "differed from the log" : "differed from the log and were made equal", &tally->before);
	const struct rebuild_difference *left = wish->check_only ? &tally->before : &tally->after;
	if (!wish->check_only)
		say("differ after it", left);
	printf("rebuild-stats: %s\n", rebuild_difference_sum(left) == 0 ? "equal" : "NOT equal");
	return rebuild_difference_sum(left) == 0 ? OK : ERR_CONFLICT;
}

/* Two at once would both add what they found. The end of the session gives it back. */
static enum err lock(struct pg_conn *conn)
{
	int64_t is_alone = 0;
	enum err err = pg_conn_query_int(conn, LOCK_SQL, NULL, &is_alone);
	for (int tries = 1; err == OK && !is_alone && tries < LOCK_TRIES; tries++) {
		poll(NULL, 0, LOCK_PAUSE_MS);
		err = pg_conn_query_int(conn, LOCK_SQL, NULL, &is_alone);
	}
	if (err == OK && !is_alone)
		return ERR_LIMIT;
	return err == OK ? pg_conn_query(conn, NOT_FINISHING_SQL, NULL, NULL) : err;
}

enum err rebuild_run(struct pg_conn *conn, const struct rebuild_options *wish)
{
	struct tally tally = { 0 };
	char begin_of_log[DAY_SIZE] = "";
	enum err err = wish->check_only ? OK : lock(conn);
	if (err == OK)
		err = rebuild_difference_prepare(conn);
	if (err == OK)
		err = rebuild_repair_prepare(conn);
	if (err == OK)
		err = rebuild_difference_begin_of_log(conn, begin_of_log, sizeof(begin_of_log));
	if (err == OK)
		err = wish->link_id ? rebuild_one(conn, wish, &tally) : rebuild_all(conn, wish, &tally);
	return err == OK ? report(wish, &tally, begin_of_log) : err;
}
