#include "services/links-api/lists/list_page.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/link_event.h"

/*
 * Format: version, total, count, then each link (waymark.v1.Link) after its length. Numbers are
 * big-endian.
 */
#define VERSION 1
#define VERSION_BYTES 1
#define TOTAL_BYTES 8
#define COUNT_BYTES 4
#define LENGTH_BYTES 4

struct bytes {
	const uint8_t *at;
	size_t left;
};

void list_page_init(struct list_page *page, size_t room)
{
	*page = (struct list_page){ .links = mem_array(room, sizeof(*page->links)), .room = room };
}

void list_page_clear(struct list_page *page)
{
	free(page->links);
	*page = (struct list_page){ 0 };
}

static void add_number(struct strbuf *out, uint64_t number, size_t size)
{
	while (size > 0)
		strbuf_add_char(out, (char)(uint8_t)(number >> (8 * --size)));
}

static bool take_number(struct bytes *from, size_t size, uint64_t *out)
{
	if (from->left < size)
		return false;
	*out = 0;
	for (size_t i = 0; i < size; i++)
		*out = *out << 8 | from->at[i];
	from->at += size;
	from->left -= size;
	return true;
}

void list_page_encode(const struct list_page *page, struct strbuf *out)
{
	struct strbuf link;
	strbuf_init(&link, LINK_EVENT_BYTES_MAX);
	add_number(out, VERSION, VERSION_BYTES);
	add_number(out, (uint64_t)page->total, TOTAL_BYTES);
	add_number(out, page->count, COUNT_BYTES);
	for (size_t i = 0; i < page->count; i++) {
		strbuf_reset(&link);
		link_event_encode_link(&page->links[i], &link);
		add_number(out, link.len, LENGTH_BYTES);
		strbuf_add(out, link.data, link.len);
	}
	strbuf_clear(&link);
}

static bool take_link(struct bytes *from, struct link *out)
{
	uint64_t len;
	if (!take_number(from, LENGTH_BYTES, &len) || len > from->left ||
	    link_event_decode_link(from->at, (size_t)len, out) != OK)
		return false;
	from->at += len;
	from->left -= (size_t)len;
	return true;
}

enum err list_page_decode(const void *bytes, size_t len, struct list_page *out)
{
	struct bytes from = { bytes, len };
	uint64_t version, total, count;
	out->count = 0;
	if (!take_number(&from, VERSION_BYTES, &version) || version != VERSION ||
	    !take_number(&from, TOTAL_BYTES, &total) || !take_number(&from, COUNT_BYTES, &count) ||
	    count > out->room || total > INT64_MAX || count > total)
		return ERR_INVALID;
	for (size_t i = 0; i < count; i++) {
		if (!take_link(&from, &out->links[i]))
			return ERR_INVALID;
	}
	if (from.left > 0)
		return ERR_INVALID;
	out->count = (size_t)count;
	out->total = (int64_t)total;
	return OK;
}
