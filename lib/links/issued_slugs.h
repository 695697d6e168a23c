/*
 * One thread at a time per connection. All slugs of the table links, in pages that are short statements each. A slug
 * that is issued while somebody turns the pages may or may not be in them.
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
	char last[SLUG_SIZE]; /* the page begins behind it; "" = the first one */
	size_t count;         /* fewer than ISSUED_SLUGS_PAGE: it was the last page */
	char slugs[ISSUED_SLUGS_PAGE][SLUG_SIZE];
};

/* The newest link's id; 0: there is none. */
enum err issued_slugs_newest_id(struct pg_conn *conn, int64_t *id) MUST_CHECK;

/* A page of the links with larger ids, oldest first; last is not touched. Raises *id to the newest of them. */
enum err issued_slugs_since(struct pg_conn *conn, int64_t *id, struct issued_slugs *page) MUST_CHECK;

/* Turns to the page behind last. Errors of pg_conn_query: the page stays as it was. */
enum err issued_slugs_next(struct pg_conn *conn, struct issued_slugs *page) MUST_CHECK;

#endif
