/*
 * One thread at a time per connection. LinkEvents that wait to be published: the table outbox. There is no cursor that a
 * late commit could fall behind: whatever is committed is read, and it stays until it was acked. Rows of one link are
 * read in the order of its versions: an id is drawn while the link's row is locked, so it is larger than those of
 * earlier versions, and whoever sees a row sees those of earlier versions too.
 */
#ifndef WAYMARK_LIB_LINKS_OUTBOX_H
#define WAYMARK_LIB_LINKS_OUTBOX_H

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
};

struct outbox_batch {
	struct outbox_row *rows;
	size_t count;
};

/* The oldest committed rows, at most limit, in order. One reader at a time, or they publish twice. */
enum err outbox_read(struct pg_conn *conn, size_t limit, struct outbox_batch *out) MUST_CHECK;
void outbox_batch_clear(struct outbox_batch *batch);

/* Removes the rows of a batch after each was acked. */
enum err outbox_remove(struct pg_conn *conn, const struct outbox_batch *batch) MUST_CHECK;

/* Rows that wait, and the age of the oldest in microseconds (0 if none). */
enum err outbox_lag(struct pg_conn *conn, int64_t *rows, int64_t *oldest_us) MUST_CHECK;

#endif
