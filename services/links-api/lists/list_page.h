/*
 * Pure. One page of an owner's links, as PostgreSQL gave it: the links and how many there are on all pages; as bytes,
 * too. Counts of visits are no part of it, and each link's state is the stored one (link_state_at).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LIST_PAGE_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LIST_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/links/link.h"

#define LIST_PAGE_BYTES_MAX (256 * 1024)

struct list_page {
	struct link *links; /* owned */
	size_t room;
	size_t count;
	int64_t total;
};

void list_page_init(struct list_page *page, size_t room);
void list_page_clear(struct list_page *page);

/* Into a buffer whose limit is LIST_PAGE_BYTES_MAX: its status says whether the page fits. */
void list_page_encode(const struct list_page *page, struct strbuf *out);

/* ERR_INVALID: not what list_page_encode writes, or more links than out has room for; out holds no page then. */
enum err list_page_decode(const void *bytes, size_t len, struct list_page *out) MUST_CHECK;

#endif
