/*
 * One thread at a time per connection. Links in PostgreSQL: the tables links and link_tombstones. Each write raises the
 * link's version and adds its LinkEvent to the outbox in the same transaction, after the row is locked; the caller
 * begins and commits. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_STORE_H
#define WAYMARK_LIB_LINKS_LINK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/links/link.h"
#include "lib/net/pg_conn.h"

/* The way of a visitor. ERR_NOT_FOUND: never issued, or purged. */
enum err link_store_find_entry(struct pg_conn *conn, const char *slug, struct link_entry *out) MUST_CHECK;

/* --- for owners --- */

struct link_store_new {
	const char *slug;
	const char *original_url;
	const char *expired_url; /* NULL = none */
	const char *title;
	const struct link_tags *tags; /* NULL = none */
	uint16_t redirect_status;
	int64_t expires_at_us;
	int64_t owner_id;                /* 0: a TEMPORARY link */
	const uint8_t *claim_token_hash; /* SHA-256, of TEMPORARY links; NULL = none */
};

/*
 * ERR_CONFLICT: the slug is taken or was once. ERR_NOT_FOUND: there is no such owner. ERR_INVALID: a constraint or a
 * tag (empty, U+001F) refuses it. After each of these nothing was changed, and the transaction goes on (a savepoint is
 * inside).
 */
enum err link_store_create(struct pg_conn *conn, const struct link_store_new *new_link, struct link *out) MUST_CHECK;

/* For an administrator: whoever owns the link, or nobody. */
#define LINK_STORE_ANY_OWNER INT64_C(-1)

/* owner_id is part of the question: foreign and missing links are both ERR_NOT_FOUND. */
enum err link_store_get(struct pg_conn *conn, int64_t id, int64_t owner_id, struct link *out) MUST_CHECK;

/* As link_store_get, and locks the row until the transaction ends. */
enum err link_store_lock(struct pg_conn *conn, int64_t id, int64_t owner_id, struct link *out) MUST_CHECK;

/*
 * Writes the changeable fields of a link that link_store_lock gave (state, redirect_status, original_url, expired_url,
 * expires_at, title, tags), raises its version in place and records the change. ERR_CONFLICT: it is not at that version
 * (it was not locked). ERR_INVALID: as in link_store_create, but the transaction can only be rolled back.
 */
enum err link_store_write(struct pg_conn *conn, struct link *link, enum link_change change) MUST_CHECK;

/*
 * The owner's newest link to a destination (in its normal form) that is ACTIVE now; slug NULL = of whatever name.
 * ERR_NOT_FOUND: there is none.
 */
enum err link_store_find_active(struct pg_conn *conn, int64_t owner_id, const char *original_url, const char *slug,
                                struct link *out) MUST_CHECK;

/*
 * Purges a link that link_store_lock gave, in whatever state, at once; as link_store_purge_batch does otherwise. *link is
 * DELETED then, at the version of its last event. ERR_CONFLICT: it is not at that version (it was not locked).
 */
enum err link_store_purge(struct pg_conn *conn, struct link *link) MUST_CHECK;

/* --- for the janitor --- */

/* One of several statements in a row, each in a transaction of its own. Starts as { .limit = … }. */
struct link_store_batch {
	int64_t limit;
	int64_t from_us; /* where in the order of times the next batch begins; what was passed over is for the next run */
	int64_t changed; /* rows; fewer than limit: nothing more is due */
};

/* ACTIVE with expires_at <= the database's now → EXPIRED; rows locked by others are skipped. */
enum err link_store_expire_batch(struct pg_conn *conn, struct link_store_batch *batch) MUST_CHECK;

/*
 * Purges links that have been EXPIRED, or DELETED, for grace_s (by a write, not by the clock alone): tombstone in, row
 * out, PURGED into the outbox; rows locked by others are skipped. Their counts are not touched: whoever owns them
 * follows the events.
 */
enum err link_store_purge_batch(struct pg_conn *conn, enum link_state state, int64_t grace_s,
                                struct link_store_batch *batch) MUST_CHECK;

#endif
