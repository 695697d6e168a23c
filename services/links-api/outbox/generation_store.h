/*
 * One thread at a time per connection. The generation of Redis' content in PostgreSQL. Table: link_cache_generation.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_GENERATION_STORE_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_GENERATION_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link_cache_trust.h"
#include "lib/net/fenced_lock.h"
#include "lib/net/pg_conn.h"

enum err generation_store_get(struct pg_conn *conn, struct link_cache_trusted *out) MUST_CHECK;

/*
 * Raises it above above, and above what it is, for a server; all of it in a transaction of its own. ERR_CONFLICT: the
 * lock is not ours any more, nothing was changed.
 */
enum err generation_store_raise(struct pg_conn *conn, const struct fenced_lock *lock, int64_t above, uint64_t server,
                                struct link_cache_trusted *out) MUST_CHECK;

#endif
