/*
 * Slugs in untrusted paths. What slug_of_path finds is a valid slug inside the path, and is found
 * again in both kinds of paths. Every valid slug is found.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/slug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_found_in(const char *prefix, const char *slug, size_t slug_len)
{
	char path[4 + SLUG_SIZE];
	snprintf(path, sizeof(path), "%s%.*s", prefix, (int)slug_len, slug);
	size_t len = 0;
	const char *found = slug_of_path(path, &len);
	require(found && len == slug_len && memcmp(found, slug, len) == 0);
}

static void try_path(const char *path)
{
	size_t len = 0;
	const char *slug = slug_of_path(path, &len);
	if (!slug)
		return;
	require(slug > path && slug + len == path + strlen(path));
	require(slug_is_valid(slug, len));
	require_found_in("/", slug, len);
	require_found_in("/r/", slug, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_text_n((const char *)data, size);
	try_path(text);
	if (slug_is_valid(text, size)) {
		require(size >= 1 && size <= SLUG_LENGTH_MAX && strlen(text) == size);
		require_found_in("/", text, size);
		require_found_in("/r/", text, size);
	}
	(void)slug_is_reserved(text);
	free(text);
	return 0;
}
