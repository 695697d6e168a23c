#include "services/redirector/cache/cached_link.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

/* glibc's header before each block; jemalloc has none. */
#define BLOCK_HEADER 8

/* What plain links do not have. */
struct apart {
	uint16_t extras_len;
	uint8_t alias_of_len;
	/* extras, alias_of. */
	uint8_t bytes[];
};

static size_t block_bytes(const void *block)
{
	return malloc_usable_size((void *)(uintptr_t)block) + BLOCK_HEADER;
}

/* The bytes behind the texts. */
static const char *tail_of(const struct cached_link *link)
{
	return link->text + link->key_len + (link->has_slug ? link->key_len : 0) +
	       link->original_len + link->expired_len;
}

/* NULL: a plain link. */
static struct apart *apart_of(const struct cached_link *link)
{
	struct apart *apart = NULL;
	if (link->has_apart)
		memcpy(&apart, tail_of(link) + (link->has_start ? sizeof(int64_t) : 0),
		       sizeof(apart));
	return apart;
}

size_t cached_link_bytes(const struct cached_link *link)
{
	return block_bytes(link) + (link->has_apart ? block_bytes(apart_of(link)) : 0);
}

void cached_link_free(struct cached_link *link)
{
	free(apart_of(link));
	free(link);
}

/* NULL: a plain link, or one of which only the version counts. */
static struct apart *pack_apart(const struct link_entry *entry)
{
	size_t alias_of_len = strlen(entry->alias_of);
	if (entry->lacks_extras || (entry->extras_len == 0 && alias_of_len == 0))
		return NULL;
	struct apart *apart = mem_zero(sizeof(*apart) + entry->extras_len + alias_of_len);
	apart->extras_len = entry->extras_len;
	apart->alias_of_len = (uint8_t)alias_of_len;
	void *alias_of = mempcpy(apart->bytes, entry->extras, entry->extras_len);
	memcpy(alias_of, entry->alias_of, alias_of_len);
	return apart;
}

struct cached_link *cached_link_pack(const struct link_entry *entry, int64_t read_at_us)
{
	char key[SLUG_KEY_SIZE];
	size_t key_len = link_key(entry, key);
	bool has_slug = !entry->is_slug_exact && memcmp(key, entry->slug, key_len) != 0;
	size_t slug_len = has_slug ? key_len : 0;
	size_t original_len = entry->lacks_extras ? 0 : strlen(entry->original_url);
	size_t expired_len = entry->lacks_extras ? 0 : strlen(entry->expired_url);
	struct apart *apart = pack_apart(entry);
	size_t apart_len = apart ? sizeof(apart) : 0;
	/* At least the size of the struct, whose tail padding overlaps the text. */
	size_t text_len = key_len + slug_len + original_len + expired_len;
	size_t start_len = entry->starts_at_us ? sizeof(entry->starts_at_us) : 0;
	size_t size = offsetof(struct cached_link, text) + text_len + start_len + apart_len;
	struct cached_link *link = mem_zero(size > sizeof(*link) ? size : sizeof(*link));
	link->read_at_us = read_at_us;
	link->id = entry->id;
	link->version = entry->version;
	link->expires_at_us = entry->expires_at_us;
	link->original_len = (uint16_t)original_len;
	link->expired_len = (uint16_t)expired_len;
	link->redirect_status = entry->redirect_status;
	link->state = (uint8_t)entry->state & 0xf;
	link->is_blocked = entry->is_blocked;
	link->lacks_extras = entry->lacks_extras;
	link->has_apart = apart != NULL;
	link->is_slug_chosen = entry->is_slug_chosen;
	link->is_slug_exact = entry->is_slug_exact;
	link->has_slug = has_slug;
	link->has_start = start_len > 0;
	link->key_len = (uint8_t)key_len;
	char *text = mempcpy(link->text, key, key_len);
	text = mempcpy(text, entry->slug, slug_len);
	text = mempcpy(text, entry->original_url, original_len);
	text = mempcpy(text, entry->expired_url, expired_len);
	text = mempcpy(text, &entry->starts_at_us, start_len);
	memcpy(text, &apart, apart_len);
	return link;
}

static const char *unpack_text(const char *text, size_t len, char *out)
{
	memcpy(out, text, len);
	out[len] = '\0';
	return text + len;
}

static void unpack_apart(const struct apart *apart, struct link_entry *out)
{
	out->extras_len = apart->extras_len;
	memcpy(out->extras, apart->bytes, apart->extras_len);
	unpack_text((const char *)apart->bytes + apart->extras_len, apart->alias_of_len,
	            out->alias_of);
}

void cached_link_unpack(const struct cached_link *link, struct link_entry *out)
{
	out->id = link->id;
	out->version = link->version;
	out->expires_at_us = link->expires_at_us;
	out->state = (enum link_state)link->state;
	out->redirect_status = link->redirect_status;
	out->is_slug_chosen = link->is_slug_chosen;
	out->is_slug_exact = link->is_slug_exact;
	out->is_blocked = link->is_blocked;
	out->lacks_extras = link->lacks_extras;
	out->extras_len = 0;
	out->alias_of[0] = '\0';
	/* The key of an exact slug is "=" and the slug. */
	size_t slug_len = (size_t)link->key_len - link->is_slug_exact;
	const char *text = link->text + (link->has_slug ? link->key_len : link->is_slug_exact);
	text = unpack_text(text, slug_len, out->slug);
	text = unpack_text(text, link->original_len, out->original_url);
	text = unpack_text(text, link->expired_len, out->expired_url);
	out->starts_at_us = 0;
	if (link->has_start)
		memcpy(&out->starts_at_us, text, sizeof(out->starts_at_us));
	if (link->has_apart)
		unpack_apart(apart_of(link), out);
}
