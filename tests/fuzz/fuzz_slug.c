/*
 * Slugs in untrusted paths. What slug_of_path finds is a valid slug, and is found again in all
 * kinds of paths. Every valid slug is found.
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

static void require_found_in(const char *prefix, const char *slug, const char *suffix)
{
	char path[32 + SLUG_SIZE];
	struct slug_path found;
	snprintf(path, sizeof(path), "%s%s%s", prefix, slug, suffix);
	require(slug_of_path(path, &found) && strcmp(found.slug, slug) == 0);
}

static void require_found(const char *slug)
{
	require_found_in("/", slug, "");
	if (strcmp(slug, "r") != 0) /* "/r/" begins a path of the other kind */
		require_found_in("/", slug, "/");
	require_found_in("/r/", slug, "");
	require_found_in("/r/", slug, "/");
	if (strcmp(slug, "r") != 0)
		require_found_in("//", slug, "%E2%80%9D.");
	require_found_in("/r//", slug, "&utm_source=x");
}

static void try_path(const char *path)
{
	struct slug_path found;
	if (!slug_of_path(path, &found) && !slug_of_longer_path(path, &found))
		return;
	require(!*found.rest ||
	        (*found.rest == '/' &&
	         strcmp(found.rest, path + strlen(path) - strlen(found.rest)) == 0));
	require(slug_is_valid(found.slug, strlen(found.slug)));
	require(!*found.query || (found.query > path && found.query < path + strlen(path)));
	require_found(found.slug);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_text_n((const char *)data, size);
	try_path(text);
	if (slug_is_valid(text, size)) {
		require(size >= 1 && size <= SLUG_LENGTH_MAX && strlen(text) == size);
		require_found(text);
	}
	(void)slug_is_reserved(text);
	free(text);
	return 0;
}
