/*
 * Pure. One page of an owner's links as read from PostgreSQL: the links and the total of all pages.
 * It can be serialized. It contains no visit counts, and each state is the stored one (see
 * link_state_at).
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

/*
 * out: a buffer limited to LIST_PAGE_BYTES_MAX. Its status is ERR_LIMIT if the page does not fit.
 */
void list_page_encode(const struct list_page *page, struct strbuf *out);

/*
 * ERR_INVALID: bytes do not come from list_page_encode, or hold more links than out has room for.
 * out->count is 0 then.
 */
enum err list_page_decode(const void *bytes, size_t len, struct list_page *out) MUST_CHECK;

#endif
