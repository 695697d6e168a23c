#include "services/links-api/commands/republish.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/commands/ghosts.h"

#define POLL_NS 20000000
#define REPORT_US (10 * CLOCK_US_PER_S)

/* --- links --- */

/* The locks keep a change of one of these links from getting into the outbox before its event. */
static enum err lock_next(struct pg_conn *conn, int64_t after_id, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, after_id);
	pg_params_int(&params, REPUBLISH_BATCH_MAX);
	return pg_conn_query(conn,
	                     "SELECT " LINK_ROW_COLUMNS
	                     " FROM links WHERE id > $1 ORDER BY id LIMIT $2 FOR UPDATE",
	                     &params, rows);
}

static enum err add_events(struct pg_conn *conn, const struct pg_result *rows, int64_t *last_id)
{
	struct outbox_bulk events;
	struct link_event event;
	enum err err = OK;
	size_t count = pg_result_count(rows);
	outbox_bulk_init(&events, OUTBOX_BACKGROUND, count);
	events.is_cached = true;
	for (size_t i = 0; err == OK && i < count; i++) {
		err = link_row_read(rows, i, &event.link);
		if (err == OK) {
			link_row_to_event(&event.link, LINK_CHANGE_REPUBLISHED, &event);
			outbox_bulk_add(&events, &event);
			*last_id = event.link.entry.id;
		}
	}
	if (err == OK)
		err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	return err;
}

static enum err last_outbox_id(struct pg_conn *conn, int64_t *id)
{
	return pg_conn_query_int(conn, "SELECT COALESCE(max(id), 0) FROM outbox", NULL, id);
}

enum err republish_next(struct pg_conn *conn, struct republish_cursor *cursor)
{
	struct pg_result *rows = NULL;
	struct republish_cursor next = *cursor;
	enum err err = lock_next(conn, cursor->link_id, &rows);
	if (err == OK)
		err = add_events(conn, rows, &next.link_id);
	if (err == OK)
		err = last_outbox_id(conn, &next.outbox_id);
	next.count = err == OK ? pg_result_count(rows) : 0;
	pg_result_free(rows);
	if (err == OK)
		*cursor = next;
	return err;
}

enum err republish_is_waiting(struct pg_conn *conn, int64_t outbox_id, bool *is_waiting)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, outbox_id);
	/* Each half has an index of its own. */
	enum err err = pg_conn_query(
		conn,
		"SELECT EXISTS (SELECT FROM outbox WHERE NOT published AND priority > 0 AND id <= $1) "
		"OR EXISTS (SELECT FROM outbox WHERE NOT published AND priority = 0 AND id <= $1)",
		&params, &rows);
	if (err == OK)
		*is_waiting = pg_result_bool(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

struct republication {
	const struct kafka_config *kafka;
	const struct log *log;
	struct republish_cursor cursor;
	struct ghosts *ghosts;
	/* Names of the last batch of ghosts, and how many of them were ended. */
	size_t names, ended;
	/* Links, then ends of ghosts, that Kafka has. */
	int64_t sent;
	int64_t report_at_us;
};

static enum err add_next(void *ctx, struct pg_conn *conn)
{
	return republish_next(conn, &((struct republication *)ctx)->cursor);
}

static void report(struct republication *r)
{
	int64_t now_us = clock_steady_us(clock_system());
	if (now_us < r->report_at_us)
		return;
	r->report_at_us = now_us + REPORT_US;
	fprintf(stderr, "links-api: Kafka has %" PRId64 " %s\n", r->sent,
	        r->ghosts ? "ends of lost links" : "links");
}

/* Waits until Kafka has the batch before the last one. So the outbox holds at most two. */
static enum err wait_until_sent(struct republication *r, struct pg_conn *conn, int64_t outbox_id)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	bool is_waiting = true;
	enum err err = republish_is_waiting(conn, outbox_id, &is_waiting);
	while (err == OK && is_waiting) {
		report(r);
		nanosleep(&pause, NULL);
		err = republish_is_waiting(conn, outbox_id, &is_waiting);
	}
	return err;
}

static enum err send_links(struct republication *r, struct pg_conn *conn)
{
	struct republish_cursor before;
	enum err err = OK;
	do {
		before = r->cursor;
		err = pg_pool_transact_on(conn, add_next, r);
		if (err == OK)
			err = wait_until_sent(r, conn, before.outbox_id);
		if (err == OK)
			r->sent += (int64_t)before.count;
	} while (err == OK && r->cursor.count > 0);
	if (err == OK)
		printf("links-api: Kafka has all %" PRId64 " links again\n", r->sent);
	else
		fprintf(stderr,
		        "links-api: stopped (%s); Kafka has %" PRId64
		        " links. Run it again: it begins anew\n",
		        err_name(err), r->sent);
	return err;
}

static enum err end_next(void *ctx, struct pg_conn *conn)
{
	struct republication *r = ctx;
	enum err err = ghosts_end_next(r->ghosts, conn, &r->names, &r->ended);
	return err == OK ? last_outbox_id(conn, &r->cursor.outbox_id) : err;
}

static enum err end_slice(struct republication *r, struct pg_conn *conn)
{
	enum err err = ghosts_read(r->ghosts, conn, r->kafka, r->log);
	r->names = 1;
	while (err == OK && r->names > 0) {
		err = pg_pool_transact_on(conn, end_next, r);
		if (err == OK && r->ended > 0)
			err = wait_until_sent(r, conn, r->cursor.outbox_id);
		if (err == OK)
			r->sent += (int64_t)r->ended;
	}
	return err;
}

/* In the first epoch nothing was lost. */
static enum err end_ghosts(struct republication *r, struct pg_conn *conn)
{
	int64_t version_base = 0;
	r->sent = 0;
	enum err err = pg_conn_query_int(conn, "SELECT link_version_base FROM database_epoch", NULL,
	                                 &version_base);
	if (err == OK && version_base == 0)
		return OK;
	r->ghosts = ghosts_new(version_base, GHOSTS_MAX);
	while (err == OK && ghosts_has_slice(r->ghosts))
		err = end_slice(r, conn);
	ghosts_free(r->ghosts);
	if (err == OK)
		printf("links-api: Kafka has the ends of %" PRId64 " lost names of links\n",
		       r->sent);
	else
		fprintf(stderr,
		        "links-api: stopped (%s); Kafka has the ends of %" PRId64
		        " lost names of links. Run it again: it begins anew\n",
		        err_name(err), r->sent);
	return err;
}

enum err republish_run(struct pg_conn *conn, const struct kafka_config *kafka,
                       const struct log *log)
{
	struct republication r = {
		.kafka = kafka,
		.log = log,
		.report_at_us = clock_steady_us(clock_system()) + REPORT_US,
	};
	enum err err = send_links(&r, conn);
	return err == OK ? end_ghosts(&r, conn) : err;
}
