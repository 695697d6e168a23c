/*
 * Options with which links-api does one thing in the database and ends. They read PG_URL and no
 * other variable: who runs them has the database at hand, but not always the whole service. Not
 * thread-safe.
 *
 *   --create-admin EMAIL [DASHBOARD_URL]
 *                        makes the account with this address an administrator and prints a link that
 *                        sets its password, once and within 24 hours; until then a password that it
 *                        has stays valid. Makes the account if there is none, whatever REGISTRATION
 *                        says, and unblocks it. DASHBOARD_URL completes the link
 *   --republish-links    publishes the current state of every link on waymark.links.v1 again, after
 *                        the topic was lost or the database was restored (docs/recovery.md). The
 *                        relay of a running links-api sends the events, at most
 *                        OUTBOX_LOW_PRIORITY_PER_SECOND, and changes of users before them. After an
 *                        error it says how many Kafka has; run again, it begins anew
 *   --fold-slugs         for a switch from SLUG_CASE=exact to folded: from now on the slugs that people
 *                        chose are found in either case, earlier ones too. Slugs that differ by case
 *                        alone, and one that differs so from a purged one, stay as they are: it
 *                        prints them.
 *                        Redirectors learn it from the feed. It can run beside links-api, and again
 */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_COMMANDS_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/postgres/pg_conn.h"

#define COMMANDS_NONE (-1)

/*
 * Does what the arguments say, prints the result on stdout or stderr, and returns the exit status.
 * COMMANDS_NONE: they name none of these.
 */
int commands_run(int argc, char **argv);

#define COMMANDS_REPUBLISH_BATCH_MAX 1000

/* Initialise with 0. */
struct commands_republish_cursor {
	/* The next batch begins after this link. */
	int64_t link_id;
	/* The newest row of the outbox when the last batch was added. */
	int64_t outbox_id;
	/* Links of the last batch; 0: there are no more. */
	size_t count;
};

/*
 * Adds events LINK_CHANGE_REPUBLISHED of the next links to the outbox, at low priority. Call it
 * inside a transaction. It advances cursor; the caller must restore the old value if it cannot
 * commit.
 */
enum err commands_republish_next(struct pg_conn *conn,
                                 struct commands_republish_cursor *cursor) MUST_CHECK;

/* Sets *is_waiting if a row of the outbox up to this ID waits for Kafka. */
enum err commands_republish_is_waiting(struct pg_conn *conn, int64_t outbox_id,
                                       bool *is_waiting) MUST_CHECK;

#endif
