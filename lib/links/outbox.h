/*
 * One thread at a time per connection. LinkEvents that wait for Kafka, for Redis or for both: the table outbox. There is
 * no cursor that a late commit could fall behind: whatever is committed is read, and it stays until Kafka has acked it
 * and Redis has it; neither waits for the other. Rows of one link are
 * read in the order of its versions: an id is drawn while the link's row is locked, so it is larger than those of
 * earlier versions, and whoever sees a row sees those of earlier versions too.
 */
#ifndef WAYMARK_LIB_LINKS_OUTBOX_H
#define WAYMARK_LIB_LINKS_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link_event.h"
#include "lib/net/pg_conn.h"

#define OUTBOX_CHANNEL "waymark_outbox"

/* In the transaction of the change, after the link's row is locked. The NOTIFY that wakes the relay goes with the commit. */
enum err outbox_add(struct pg_conn *conn, const struct link_event *event) MUST_CHECK;

struct outbox_row {
	int64_t id;
	char slug[SLUG_SIZE];
	int64_t created_at_us;
	void *payload; /* owned by the row */
	size_t payload_len;
	bool cached; /* Redis has this version or a newer one; the reader sets it when he has seen to that */
};

struct outbox_batch {
	struct outbox_row *rows;
	size_t count;
};

/* The oldest committed rows that wait for Kafka, at most limit, in order. One reader at a time, or they publish twice. */
enum err outbox_read(struct pg_conn *conn, size_t limit, struct outbox_batch *out) MUST_CHECK;
/* As outbox_read, of those that wait for Redis. */
enum err outbox_read_uncached(struct pg_conn *conn, size_t limit, struct outbox_batch *out) MUST_CHECK;
void outbox_batch_clear(struct outbox_batch *batch);

/* After Kafka has acked each row of a batch: removes those that are cached, the others wait for Redis alone. */
enum err outbox_set_published(struct pg_conn *conn, const struct outbox_batch *batch) MUST_CHECK;

/* For the rows of a batch that are cached: removes those that are published, the others wait for Kafka alone. */
enum err outbox_set_cached(struct pg_conn *conn, const struct outbox_batch *batch) MUST_CHECK;

/* *told: whether no event of this link waits for Redis: it has them, or nothing old in it is believed any more. */
enum err outbox_is_told(struct pg_conn *conn, const char *slug, bool *told) MUST_CHECK;

/*
 * Sets cached in at most limit rows that wait for Redis, oldest first, whatever Redis has: there is nothing old in it.
 * *count: how many they were.
 */
enum err outbox_forget_uncached(struct pg_conn *conn, size_t limit, int64_t *count) MUST_CHECK;

struct outbox_lag {
	int64_t unpublished; /* rows that wait for Kafka */
	int64_t uncached;    /* rows that wait for Redis; a row may wait for both */
	int64_t oldest_us;   /* the age of the oldest row that waits for Kafka; 0 if none does */
};

enum err outbox_lag(struct pg_conn *conn, struct outbox_lag *out) MUST_CHECK;

#endif
