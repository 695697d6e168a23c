#include "services/redirector/cache/memory_link.h"

#include <malloc.h>
#include <string.h>

#include "lib/base/mem.h"

/* glibc's header before each block; jemalloc has none. */
#define BLOCK_HEADER 8

size_t memory_link_bytes(const struct memory_link *link)
{
	return malloc_usable_size((void *)(uintptr_t)link) + BLOCK_HEADER;
}

struct memory_link *memory_link_pack(const struct link_entry *entry, int64_t read_at_us)
{
	size_t slug_len = strlen(entry->slug);
	size_t original_len = strlen(entry->original_url);
	size_t expired_len = strlen(entry->expired_url);
	/* At least the size of the struct, whose tail padding overlaps the text. */
	size_t text_len = slug_len + original_len + expired_len;
	size_t start_len = entry->starts_at_us ? sizeof(entry->starts_at_us) : 0;
	size_t size = offsetof(struct memory_link, text) + text_len + start_len;
	struct memory_link *link = mem_zero(size > sizeof(*link) ? size : sizeof(*link));
	link->read_at_us = read_at_us;
	link->id = entry->id;
	link->version = entry->version;
	link->expires_at_us = entry->expires_at_us;
	link->original_len = (uint16_t)original_len;
	link->expired_len = (uint16_t)expired_len;
	link->redirect_status = entry->redirect_status;
	link->state = (uint8_t)entry->state;
	link->slug_len = (uint8_t)slug_len;
	memcpy(link->text, entry->slug, slug_len);
	memcpy(link->text + slug_len, entry->original_url, original_len);
	memcpy(link->text + slug_len + original_len, entry->expired_url, expired_len);
	link->has_start = start_len > 0;
	memcpy(link->text + text_len, &entry->starts_at_us, start_len);
	return link;
}

static const char *unpack_text(const char *text, size_t len, char *out)
{
	memcpy(out, text, len);
	out[len] = '\0';
	return text + len;
}

void memory_link_unpack(const struct memory_link *link, struct link_entry *out)
{
	out->id = link->id;
	out->version = link->version;
	out->expires_at_us = link->expires_at_us;
	out->state = (enum link_state)link->state;
	out->redirect_status = link->redirect_status;
	const char *text = unpack_text(link->text, link->slug_len, out->slug);
	text = unpack_text(text, link->original_len, out->original_url);
	text = unpack_text(text, link->expired_len, out->expired_url);
	out->starts_at_us = 0;
	if (link->has_start)
		memcpy(&out->starts_at_us, text, sizeof(out->starts_at_us));
}
