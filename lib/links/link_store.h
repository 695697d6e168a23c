/*
 * Links in PostgreSQL: the tables links and link_tombstones. link_write.h creates and updates them.
 * Each write locks the row, raises the version of the link and adds its LinkEvent to the outbox in
 * the same transaction. The caller begins and commits the transaction. Errors of pg_conn_query pass
 * through.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_STORE_H
#define WAYMARK_LIB_LINKS_LINK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

/*
 * For redirects, by the key (slug.h) of its slug or of an alias, which is out->slug then, with the
 * alias's own kind of key. ERR_NOT_FOUND: no name is this slug in any case, or it was purged.
 * ERR_CONFLICT: none has the key, but one may answer to its slug under the other kind of key.
 */
enum err link_store_find_entry(struct pg_conn *conn, const char *key,
                               struct link_entry *out) MUST_CHECK;

/* --- for owners --- */

/* For administrators: links of any workspace and of nobody. */
#define LINK_STORE_ANY_WORKSPACE INT64_C(-1)

/* Links of other owners are ERR_NOT_FOUND, like missing links. */
enum err link_store_get(struct pg_conn *conn, int64_t id, int64_t workspace_id,
                        struct link *out) MUST_CHECK;

/* As link_store_get, and locks the row until the transaction ends. */
enum err link_store_lock(struct pg_conn *conn, int64_t id, int64_t workspace_id,
                         struct link *out) MUST_CHECK;

/*
 * Purges a link from link_store_lock at once, whatever its state; otherwise as
 * link_store_purge_batch. *link is DELETED then, at the version of its last event. ERR_CONFLICT:
 * the link is at another version, so it was not locked.
 */
enum err link_store_purge(struct pg_conn *conn, struct link *link) MUST_CHECK;

/* --- claims: links made without a login get a workspace, authorised by their claim token --- */

/*
 * Reads the link with this slug and claim token, and locks it until the transaction ends. Its
 * workspace_id is set if it was claimed before. ERR_NOT_FOUND: no such pair.
 */
enum err link_store_lock_by_claim_token(struct pg_conn *conn, const char *slug,
                                        const uint8_t claim_token_hash[static DIGEST_SIZE],
                                        struct link *out) MUST_CHECK;

/*
 * Makes a link of nobody from link_store_lock_by_claim_token a PERMANENT link of the workspace, without
 * an expiry time, and records the change. The token stays, so that a repeated claim finds the link
 * again. ERR_CONFLICT: the link has a workspace, is at another version, or the workspace does not exist.
 */
enum err link_store_claim(struct pg_conn *conn, struct link *link, int64_t workspace_id) MUST_CHECK;

/* --- for the janitor --- */

/* One of a series of statements, each in its own transaction. Initialise with { .limit = … }. */
struct link_store_batch {
	int64_t limit;
	/* Where the next batch begins; skipped rows are left to the next run. */
	int64_t from_us;
	/* Rows; fewer than limit: no more are due. */
	int64_t changed;
};

/* ACTIVE links with expires_at <= now (of the database) become EXPIRED. Skips locked rows. */
enum err link_store_expire_batch(struct pg_conn *conn, struct link_store_batch *batch) MUST_CHECK;

/* How long the janitor keeps what has ended, in seconds. */
struct link_store_keep {
	/* TEMPORARY links from EXPIRED on. */
	int64_t temporary_s;
	/* PERMANENT links from EXPIRED on. */
	int64_t expired_s;
	int64_t deleted_s;
};

/* Which links a purge takes: EXPIRED ones of a type, or DELETED ones of both. */
enum link_store_ended {
	LINK_STORE_ENDED_TEMPORARY,
	LINK_STORE_ENDED_EXPIRED,
	LINK_STORE_ENDED_DELETED,
};

/* Stores the times, for link_check_store_get_bulk, which tells owners. *changed: 0, they were these. */
enum err link_store_set_keep(struct pg_conn *conn, const struct link_store_keep *keep,
                             int64_t *changed) MUST_CHECK;

/*
 * Purges links that have been EXPIRED or DELETED in the database for the time of keep, unless the deletion
 * of their workspace can be undone (workspaces.closing): inserts a tombstone of each name,
 * deletes the rows and adds PURGED to the outbox. Skips rows that others have locked. Does not touch
 * their statistics: the owner of those follows the events.
 */
enum err link_store_purge_batch(struct pg_conn *conn, enum link_store_ended ended,
                                const struct link_store_keep *keep,
                                struct link_store_batch *batch) MUST_CHECK;

/*
 * --- all keys ---
 *
 * Pages of all keys, of aliases too, each read by one short statement. A key that is issued during
 * the iteration may or may not be included.
 */

#define LINK_STORE_KEY_PAGE_MAX 5000

/* About 510 KB: keep it on the heap. */
struct link_store_key_page {
	/* The page begins after it; "" = the first page. */
	char last[SLUG_KEY_SIZE];
	/* Fewer than LINK_STORE_KEY_PAGE_MAX: this is the last page. */
	size_t count;
	/* The names of the newest link stay together. */
	char keys[LINK_STORE_KEY_PAGE_MAX + LINK_ALIASES_MAX][SLUG_KEY_SIZE];
};

/* The ID of the newest link; 0 if there are no links. */
enum err link_store_newest_id(struct pg_conn *conn, int64_t *id) MUST_CHECK;

/*
 * Reads a page of links with IDs above *id and their aliases, oldest first, and raises *id to the
 * newest of them.
 * Leaves last unchanged.
 */
enum err link_store_new_keys(struct pg_conn *conn, int64_t *id,
                             struct link_store_key_page *page) MUST_CHECK;

/* Reads the page after last. On an error of pg_conn_query the page is unchanged. */
enum err link_store_next_keys(struct pg_conn *conn, struct link_store_key_page *page) MUST_CHECK;

#endif
