/*
 * LinkEvents that wait for Kafka, for Redis or for both: the table outbox (transactional outbox
 * pattern). There is no cursor that a late commit could fall behind: the relay reads all committed
 * rows, and a row stays until Kafka has acknowledged it and Redis has it. Neither waits for the
 * other.
 *
 * Rows of one link are read in the order of its versions. A row gets its ID while the link is
 * locked, so the ID is larger than those of earlier versions, and a snapshot that has the row also
 * has the earlier ones.
 *
 * Events for which nobody waits (of the janitor, and of links that are published again) have low
 * priority: they are read after all others, in portions
 * (docs/decisions/0004-outbox-without-a-cursor.md). The order of versions still holds: such
 * an event becomes urgent when the link changes again, and nothing follows a purge.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_LINKS_OUTBOX_H
#define WAYMARK_LIB_LINKS_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link_aliases.h"
#include "lib/links/link_event.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"

#define OUTBOX_CHANNEL "waymark_outbox"

/* The values of the column. Larger = less urgent. */
enum outbox_priority { OUTBOX_URGENT = 0, OUTBOX_BACKGROUND = 1, OUTBOX_PURGE = 2 };

/*
 * Each event of a link with aliases becomes a row of each of its names.
 *
 * Adds an urgent event, with the extras of event->link.entry beside it. Call it in the transaction
 * of the change, after the row of the link is locked. The commit also sends the NOTIFY that wakes
 * the relay.
 */
enum err outbox_add(struct pg_conn *conn, const struct link_event *event) MUST_CHECK;

/* Events of many links, added by one statement; otherwise as outbox_add. */
struct outbox_bulk {
	enum outbox_priority priority;
	/* Redis needs none of them; false from outbox_bulk_init. */
	bool is_cached;
	struct sql_column slugs;
	struct sql_column payloads;
	struct sql_column extras;
	/* The links that have aliases, and what the rows of these are made of. */
	struct link_aliases aliases;
	struct outbox_row *aliased;
	/* Of the newest row. */
	char last_slug[SLUG_SIZE];
};

/* At most events_max events; their aliases do not count. */
void outbox_bulk_init(struct outbox_bulk *bulk, enum outbox_priority priority, size_t events_max);
void outbox_bulk_add(struct outbox_bulk *bulk, const struct link_event *event);
/* Inserts the events. ERR_LIMIT: there are more than events_max. Does nothing without events. */
enum err outbox_bulk_insert(struct outbox_bulk *bulk, struct pg_conn *conn) MUST_CHECK;
void outbox_bulk_clear(struct outbox_bulk *bulk);

struct outbox_row {
	int64_t id;
	char slug[SLUG_SIZE];
	int64_t created_at_us;
	/* For Kafka; owned by the row. */
	void *payload;
	size_t payload_len;
	/* For Redis alone, of a row that was not cached; owned by the row. NULL: none. */
	void *extras;
	size_t extras_len;
	bool is_low_priority;
	/* Redis has this version or a newer one; the reader sets it. */
	bool cached;
};

struct outbox_batch {
	struct outbox_row *rows;
	size_t count;
};

/*
 * Reads the oldest committed rows that wait for Kafka, at most limit, in order. If these are all,
 * at most low_priority_limit low-priority rows follow. Only one reader at a time, else events are
 * published twice.
 */
enum err outbox_read(struct pg_conn *conn, size_t limit, size_t low_priority_limit,
                     struct outbox_batch *out) MUST_CHECK;
/*
 * Reads the oldest rows that wait for Redis, in order. Low-priority rows wait for Redis only after
 * Kafka has them.
 */
enum err outbox_read_uncached(struct pg_conn *conn, size_t limit,
                              struct outbox_batch *out) MUST_CHECK;
void outbox_batch_clear(struct outbox_batch *batch);

/* The event of a row, with the extras of the link. Errors of link_event_decode. */
enum err outbox_row_event(const struct outbox_row *row, struct link_event *out) MUST_CHECK;

/*
 * Call it after Kafka has acknowledged each row of a batch. Deletes the cached rows; the others now
 * wait only for Redis.
 */
enum err outbox_set_published(struct pg_conn *conn, const struct outbox_batch *batch) MUST_CHECK;

/* For the cached rows of a batch: deletes the published; the others wait only for Kafka. */
enum err outbox_set_cached(struct pg_conn *conn, const struct outbox_batch *batch) MUST_CHECK;

/* Sets *are_cached if Redis has all events of these links, or their old values are not valid. */
enum err outbox_are_cached(struct pg_conn *conn, const char *const *slugs, size_t count,
                           bool *are_cached) MUST_CHECK;

/*
 * Marks at most limit rows that wait for Redis as cached, oldest first. Use it when Redis has no
 * old values left, for example after raising the generation. *count is the number of rows.
 */
enum err outbox_skip_uncached(struct pg_conn *conn, size_t limit, int64_t *count) MUST_CHECK;

struct outbox_lag {
	/* Rows that wait for Kafka, without those of low priority. */
	int64_t unpublished;
	/* Rows that wait for Redis; a row may wait for both. */
	int64_t uncached;
	/* Age of the oldest unpublished row; 0 if there is none. */
	int64_t oldest_us;
	/* Upper bound of low-priority rows that wait for Kafka: a count takes too long. */
	int64_t low_priority;
};

enum err outbox_lag(struct pg_conn *conn, struct outbox_lag *out) MUST_CHECK;

#endif
