/*
 * One thread at a time per connection. Links that were made without a login and get an owner: the table links. Who can
 * show the claim token may have the link. The caller begins and commits. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CLAIM_STORE_H
#define WAYMARK_LIB_LINKS_LINK_CLAIM_STORE_H

#include "lib/base/digest.h"
#include "lib/links/link_store.h"

/*
 * The link of that slug and claim token, locked until the transaction ends; its owner_id tells whether somebody has
 * claimed it before. ERR_NOT_FOUND: there is no such pair.
 */
enum err link_claim_store_lock(struct pg_conn *conn, const char *slug,
                               const uint8_t claim_token_hash[static DIGEST_SIZE], struct link *out) MUST_CHECK;

/*
 * Makes a link that link_claim_store_lock gave, and nobody owns, the owner's PERMANENT one, which never expires, and
 * records the change. The token stays, so that who repeats the claim finds his own link. ERR_CONFLICT: it has an owner,
 * or is at another version. ERR_CONFLICT also: there is no such owner.
 */
enum err link_claim_store_take(struct pg_conn *conn, struct link *link, int64_t owner_id) MUST_CHECK;

#endif
