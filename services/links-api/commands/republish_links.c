#include "services/links-api/commands/republish_links.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/commands/link_republish_store.h"
#include "services/links-api/commands/one_command.h"

#define POLL_NS 20000000
#define REPORT_US (10 * CLOCK_US_PER_S)

struct republication {
	struct link_republish_cursor cursor;
	/* Links that Kafka has. */
	int64_t sent;
	int64_t report_at_us;
};

bool republish_links_is_wanted(int argc, char **argv)
{
	return argc == 2 && strcmp(argv[1], "--republish-links") == 0;
}

static enum err add_next(void *ctx, struct pg_conn *conn)
{
	return link_republish_store_next(conn, ctx);
}

static void report(struct republication *r)
{
	int64_t now_us = clock_steady_us(clock_system());
	if (now_us < r->report_at_us)
		return;
	r->report_at_us = now_us + REPORT_US;
	fprintf(stderr, "links-api: Kafka has %" PRId64 " links\n", r->sent);
}

/* Waits until Kafka has the batch before the last one. So the outbox holds at most two. */
static enum err wait_until_sent(struct republication *r, struct pg_conn *conn, int64_t outbox_id)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	bool is_waiting = true;
	enum err err = link_republish_store_is_waiting(conn, outbox_id, &is_waiting);
	while (err == OK && is_waiting) {
		report(r);
		nanosleep(&pause, NULL);
		err = link_republish_store_is_waiting(conn, outbox_id, &is_waiting);
	}
	return err;
}

static enum err republish(void *ctx, struct pg_conn *conn)
{
	struct republication *r = ctx;
	struct link_republish_cursor before;
	enum err err = OK;
	do {
		before = r->cursor;
		err = pg_transaction_on(conn, add_next, &r->cursor);
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

int republish_links_run(void)
{
	struct republication r = { .report_at_us = clock_steady_us(clock_system()) + REPORT_US };
	return one_command_run(republish, &r);
}
