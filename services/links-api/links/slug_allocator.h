/*
 * One thread at a time per connection. Creates links and allocates their slugs: the requested slug,
 * or random ones until one is free. It tries SLUG_RANDOM_TRIES random slugs of each length,
 * starting with SLUG_RANDOM_LENGTH. Only the UNIQUE constraint and the tombstones decide whether a
 * slug is free.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_ALLOCATOR_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_SLUG_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "services/links-api/links/link_bulk_store.h"

#define SLUG_ALLOCATOR_LENGTH_MAX 12

/* The source of random slugs: slug_random, except in tests that force collisions. */
typedef void (*slug_allocator_source)(char out[static SLUG_SIZE], size_t length);

/*
 * Creates the link in the caller's transaction. new_link->slug NULL = a random one. Errors of
 * link_store_create, and:
 *   ERR_CONFLICT  the requested slug is already used
 *   ERR_LIMIT     all random slugs up to SLUG_ALLOCATOR_LENGTH_MAX characters were already used
 */
enum err slug_allocator_create(struct pg_conn *conn, const struct link_store_new *new_link,
                               slug_allocator_source source, struct link *out) MUST_CHECK;

/* One link of a bulk creation. */
struct slug_allocator_item {
	/* Slug NULL = a random one. */
	struct link_store_new requested;
	/* Random slugs that were already used; starts as 0. */
	int tries;
	/* The slug of the latest round. */
	char slug[SLUG_SIZE];
	/* Another item of this round has the same slug. */
	bool is_duplicate;
	/* Err is final: OK, or an error as of slug_allocator_create. */
	bool is_done;
	enum err err;
	/* Receives the link. */
	struct link *link;
};

/*
 * Runs one round: one statement that creates at most LINK_BULK_STORE_MAX items. Requested slugs
 * must be distinct. An item whose random slug was already used stays undone and needs another
 * round. Errors of link_bulk_store_create.
 */
enum err slug_allocator_create_bulk(struct pg_conn *conn, struct slug_allocator_item *const *items,
                                    size_t count, slug_allocator_source source) MUST_CHECK;

#endif
