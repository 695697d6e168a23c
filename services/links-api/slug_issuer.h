/*
 * One thread at a time per connection. Gives new links their slugs: the wished one, or random ones until one is free:
 * SLUG_RANDOM_TRIES of each length, from SLUG_RANDOM_LENGTH on. Only UNIQUE decides what is free.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_SLUG_ISSUER_H
#define WAYMARK_SERVICES_LINKS_API_SLUG_ISSUER_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/links/link_store.h"

#define SLUG_ISSUER_LENGTH_MAX 12

/* Where random slugs come from: slug_random, but in tests that force collisions. */
typedef void (*slug_issuer_source)(char out[static SLUG_SIZE], size_t length);

/*
 * Creates the link in the caller's transaction. new_link->slug NULL = a random one. ERR_CONFLICT: the wished slug is
 * taken. ERR_LIMIT: even random slugs of SLUG_ISSUER_LENGTH_MAX characters were all taken. Others as link_store_create.
 */
enum err slug_issuer_create(struct pg_conn *conn, const struct link_store_new *new_link, slug_issuer_source source,
                            struct link *out) MUST_CHECK;

#endif
