/*
 * One thread at a time per connection. LinkEvents that wait for Kafka, for Redis or for both: the table outbox. There
 * is no cursor that a late commit could fall behind: whatever is committed is read, and it stays until Kafka has acked
 * it and Redis has it; neither waits for the other. Rows of one link are read in the order of its versions: an id is
 * drawn while the link's row is locked, so it is larger than those of earlier versions, and whoever sees a row sees
 * those of earlier versions too.
 *
 * What the janitor does to many links at once is patient: it is read behind everything else, in portions
 * (docs/decisions/0016-purge-in-bulk.md). A link's mark loses its patience when somebody changes the link, and nothing
 * comes after a purge, so the order holds all the same.
 */
#ifndef WAYMARK_LIB_LINKS_OUTBOX_H
#define WAYMARK_LIB_LINKS_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link_event.h"
#include "lib/net/pg_conn.h"
#include "lib/net/sql_column.h"

#define OUTBOX_CHANNEL "waymark_outbox"

/* The numbers are those of the column. */
enum outbox_patience { OUTBOX_URGENT = 0, OUTBOX_MARK = 1, OUTBOX_PURGE = 2 };

/*
 * In the transaction of the change, after the link's row is locked. The NOTIFY that wakes the relay goes with the
 * commit. An event of somebody who waits for it: OUTBOX_URGENT.
 */
enum err outbox_add(struct pg_conn *conn, const struct link_event *event) MUST_CHECK;

/* Events of many links, for one statement; as outbox_add otherwise. */
struct outbox_bundle {
	enum outbox_patience patience;
	struct sql_column slugs;
	struct sql_column payloads;
};

/* events_max bounds it. */
void outbox_bundle_init(struct outbox_bundle *bundle, enum outbox_patience patience, size_t events_max);
void outbox_bundle_put(struct outbox_bundle *bundle, const struct link_event *event);
/* ERR_LIMIT: more than events_max were put. An empty bundle is OK. */
enum err outbox_bundle_add(struct outbox_bundle *bundle, struct pg_conn *conn) MUST_CHECK;
void outbox_bundle_clear(struct outbox_bundle *bundle);

struct outbox_row {
	int64_t id;
	char slug[SLUG_SIZE];
	int64_t created_at_us;
	void *payload; /* owned by the row */
	size_t payload_len;
	bool is_patient;
	bool cached; /* Redis has this version or a newer one; the reader sets it when he has seen to that */
};

struct outbox_batch {
	struct outbox_row *rows;
	size_t count;
};

/*
 * The oldest committed rows that wait for Kafka, at most limit, in order; behind them, if these are all, at most
 * patient_limit patient ones. One reader at a time, or they publish twice.
 */
enum err outbox_read(struct pg_conn *conn, size_t limit, size_t patient_limit, struct outbox_batch *out) MUST_CHECK;
/* The oldest that wait for Redis, in order. Patient rows do not before Kafka has them. */
enum err outbox_read_uncached(struct pg_conn *conn, size_t limit, struct outbox_batch *out) MUST_CHECK;
void outbox_batch_clear(struct outbox_batch *batch);

/* After Kafka has acked each row of a batch: removes those that are cached, the others wait for Redis alone. */
enum err outbox_set_published(struct pg_conn *conn, const struct outbox_batch *batch) MUST_CHECK;

/* For the rows of a batch that are cached: removes those that are published, the others wait for Kafka alone. */
enum err outbox_set_cached(struct pg_conn *conn, const struct outbox_batch *batch) MUST_CHECK;

/* *told: whether no event of this link waits for Redis: it has them, or nothing old in it is believed any more. */
enum err outbox_is_told(struct pg_conn *conn, const char *slug, bool *told) MUST_CHECK;

/* As outbox_is_told, of all of these links. */
enum err outbox_are_told(struct pg_conn *conn, const char *const *slugs, size_t count, bool *told) MUST_CHECK;

/*
 * Sets cached in at most limit rows that wait for Redis, oldest first, whatever Redis has: there is nothing old in it.
 * *count: how many they were.
 */
enum err outbox_forget_uncached(struct pg_conn *conn, size_t limit, int64_t *count) MUST_CHECK;

struct outbox_lag {
	int64_t unpublished; /* rows that wait for Kafka, but for patient ones */
	int64_t uncached;    /* rows that wait for Redis; a row may wait for both */
	int64_t oldest_us;   /* the age of the oldest of the unpublished; 0 if there is none */
	int64_t patient;     /* patient rows that wait for Kafka, at most: counting a million takes too long */
};

enum err outbox_lag(struct pg_conn *conn, struct outbox_lag *out) MUST_CHECK;

#endif
