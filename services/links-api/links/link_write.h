/*
 * Creates and updates links in PostgreSQL, one or many at once: one statement for the table links
 * and one for the outbox. lib/links/link_store.h reads links and ends them. The caller begins
 * and commits the transaction. Errors of pg_conn_query pass through. After any error the
 * transaction can only be rolled back.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_WRITE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

#define LINK_WRITE_MAX 1000
#define LINK_WRITE_SLUG_KEY "links_slug_key"
#define LINK_WRITE_EXTERNAL_ID_KEY "links_external_id_key"

struct link_write_new {
	const char *slug;
	/* As in struct link_entry. */
	bool is_slug_chosen;
	bool is_slug_exact;
	const char *original_url;
	/* NULL = none. */
	const char *expired_url;
	const char *title;
	/* NULL = none. */
	const struct link_tags *tags;
	uint16_t redirect_status;
	int64_t starts_at_us;
	int64_t expires_at_us;
	/* 0: a TEMPORARY link. */
	int64_t workspace_id;
	/* SHA-256, for TEMPORARY links; NULL = none. */
	const uint8_t *claim_token_hash;
	/* As in struct link_entry and struct link; of a plain link 0. */
	const uint8_t *extras;
	uint16_t extras_len;
	unsigned features;
	/* NULL = none. */
	const char *external_id;
};

/*
 * Creates links of one workspace. It locks slugs in a fixed order, so that concurrent callers never
 * deadlock; lists show the links in the order given. is_created[i] is true if new_links[i] was
 * created, as *links[i]. If not, its slug is taken or was used before, perhaps in another case.
 * new_links must have distinct keys (slug.h), and the workspace, the claim token and is_slug_exact of the
 * first one.
 *   ERR_LIMIT      more than LINK_WRITE_MAX links
 *   ERR_CONFLICT   a link with one of the slugs was purged just now, or two transactions
 *                  deadlocked: roll back and try again. Or, if pg_conn_constraint names
 *                  LINK_WRITE_EXTERNAL_ID_KEY, the workspace has a link with the external_id
 *   ERR_NOT_FOUND  the workspace does not exist
 *   ERR_INVALID    a constraint or a tag (empty, U+001F) rejects one of the links
 */
enum err link_write_create(struct pg_conn *conn, const struct link_write_new *new_links,
                           size_t count, struct link *const *links, bool *is_created) MUST_CHECK;

/*
 * Locks those of the links with these ids that still exist, in the order of their ids, and reads
 * them into links, which has room for count. ERR_LIMIT also: count exceeds LINK_WRITE_MAX.
 */
enum err link_write_lock(struct pg_conn *conn, const int64_t *ids, size_t count, struct link *links,
                         size_t *locked) MUST_CHECK;

/*
 * Writes the mutable fields of links that were locked and edited (state, redirect_status,
 * original_url, expired_url, starts_at, expires_at, title, tags, extras with features, external_id,
 * blocked_reason; slug and alias_count as link_aliases_rename left them), raises the versions (also in
 * links) and records changes[i] of links[i] under each of its names. A link that becomes DELETED keeps
 * the state before for link_change_restore.
 *   ERR_CONFLICT  a link is at another version; it was not locked. Or its external_id, as above, or
 *                 its slug: pg_conn_constraint names LINK_WRITE_SLUG_KEY
 *   ERR_INVALID   a constraint or a malformed tag rejects a link
 *   ERR_LIMIT     count exceeds LINK_WRITE_MAX
 */
enum err link_write_update(struct pg_conn *conn, struct link *links,
                           const enum link_change *changes, size_t count) MUST_CHECK;

/*
 * Sets or, with "", removes why an administrator has blocked a link, and records the change. The link
 * is locked; *link is it afterwards. ERR_NOT_FOUND: that is the reason already.
 */
enum err link_write_block(struct pg_conn *conn, int64_t id, const char *reason,
                          struct link *link) MUST_CHECK;

#endif
