/*
 * Links that were created without a login and get an owner: the table links. The claim token
 * authorises the claim. The caller begins and commits the transaction. Errors of pg_conn_query pass
 * through.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CLAIM_STORE_H
#define WAYMARK_LIB_LINKS_LINK_CLAIM_STORE_H

#include "lib/base/digest.h"
#include "lib/links/link_store.h"

/*
 * Reads the link with this slug and claim token, and locks it until the transaction ends. Its
 * owner_id tells whether it has been claimed before. ERR_NOT_FOUND: no such pair.
 */
enum err link_claim_store_lock(struct pg_conn *conn, const char *slug,
                               const uint8_t claim_token_hash[static DIGEST_SIZE], struct link *out) MUST_CHECK;

/*
 * Makes an unowned link from link_claim_store_lock a PERMANENT link of the owner, without an expiry
 * time, and records the change. The token stays, so that a repeated claim finds the link again.
 * ERR_CONFLICT: the link has an owner, is at another version, or the owner does not exist.
 */
enum err link_claim_store_take(struct pg_conn *conn, struct link *link, int64_t owner_id) MUST_CHECK;

#endif
