/*
 * All slugs of the table links, in pages. Each page is one short statement. A slug that is issued
 * during the iteration may or may not be included.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_LINKS_ISSUED_SLUGS_H
#define WAYMARK_LIB_LINKS_ISSUED_SLUGS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/slug.h"
#include "lib/net/pg_conn.h"

#define ISSUED_SLUGS_PAGE 5000

/* About 165 KB: keep it on the heap. */
struct issued_slugs {
	char last[SLUG_SIZE]; /* the page begins after it; "" = the first page */
	size_t count;         /* fewer than ISSUED_SLUGS_PAGE: this is the last page */
	char slugs[ISSUED_SLUGS_PAGE][SLUG_SIZE];
};

/* The ID of the newest link; 0 if there are no links. */
enum err issued_slugs_newest_id(struct pg_conn *conn, int64_t *id) MUST_CHECK;

/*
 * Reads a page of links with IDs above *id, oldest first, and raises *id to the newest of them.
 * Leaves last unchanged.
 */
enum err issued_slugs_since(struct pg_conn *conn, int64_t *id, struct issued_slugs *page) MUST_CHECK;

/* Reads the page after last. On an error of pg_conn_query the page is unchanged. */
enum err issued_slugs_next(struct pg_conn *conn, struct issued_slugs *page) MUST_CHECK;

#endif
