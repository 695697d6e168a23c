/*
 * One thread at a time per connection. Many links that are changed at once: the tables links and outbox, one statement
 * each. The caller begins and commits. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_MANY_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_MANY_STORE_H

#include <stddef.h>

#include "lib/links/link.h"
#include "lib/net/pg_conn.h"

#define LINK_MANY_STORE_MAX 1000

/* A link that was locked, edited, and what is to be recorded of that. */
struct link_many_store_change {
	struct link link;
	enum link_change change;
};

/*
 * Writes state, original_url and tags of each, raises their versions in place and records the changes. ERR_CONFLICT:
 * one is not at its version (it was not locked). ERR_INVALID: a constraint or a tag refuses one. ERR_LIMIT: more than
 * LINK_MANY_STORE_MAX. After each error the transaction can only be rolled back.
 */
enum err link_many_store_write(struct pg_conn *conn, struct link_many_store_change *changes, size_t count) MUST_CHECK;

#endif
