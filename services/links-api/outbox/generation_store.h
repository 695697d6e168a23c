/*
 * The generation of the Redis caches, stored in PostgreSQL (table link_cache_generation). One
 * thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_GENERATION_STORE_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_GENERATION_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link_cache_validity.h"
#include "lib/postgres/fenced_lock.h"
#include "lib/postgres/pg_conn.h"

enum err generation_store_get(struct pg_conn *conn, struct link_cache_epoch *out) MUST_CHECK;

/*
 * In its own transaction: raises the generation above both its current value and above, and records
 * the Redis server it is valid for. ERR_CONFLICT: the lock was lost; nothing changed.
 */
enum err generation_store_raise(struct pg_conn *conn, const struct fenced_lock *lock, int64_t above,
                                uint64_t server, struct link_cache_epoch *out) MUST_CHECK;

#endif
