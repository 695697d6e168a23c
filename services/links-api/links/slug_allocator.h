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
#include "services/links-api/links/link_write.h"

#define SLUG_ALLOCATOR_LENGTH_MAX 12

/* The source of random slugs: slug_random, except in tests that force collisions. */
typedef void (*slug_allocator_source)(char out[static SLUG_SIZE], size_t length);

/* One link to create. */
struct slug_allocator_item {
	/* Slug NULL = a random one. */
	struct link_write_new requested;
	/* Random slugs that were already used; starts as 0. */
	int tries;
	/* The slug of the latest round. */
	char slug[SLUG_SIZE];
	/* Another item of this round has the same slug. */
	bool is_duplicate;
	/*
	 * err is final: OK, ERR_CONFLICT (the requested slug is used) or ERR_LIMIT (all random
	 * slugs up to SLUG_ALLOCATOR_LENGTH_MAX characters were used).
	 */
	bool is_done;
	enum err err;
	/* Receives the link. */
	struct link *link;
};

/*
 * Runs one round: one statement that creates at most LINK_WRITE_MAX items. Requested slugs
 * must be distinct. An item whose random slug was already used stays undone and needs another
 * round. Errors of link_write_create.
 */
enum err slug_allocator_create_bulk(struct pg_conn *conn, struct slug_allocator_item *const *items,
                                    size_t count, slug_allocator_source source) MUST_CHECK;

/* Runs rounds until one item is done. Errors of link_write_create. */
enum err slug_allocator_create(struct pg_conn *conn, struct slug_allocator_item *item,
                               slug_allocator_source source) MUST_CHECK;

#endif
