/*
 * The first bytes of a stranger's page. A title is one that a link may have: valid UTF-8 of 1 to 200
 * characters, without control characters, and without white space at its ends.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "services/links-api/titles/page_title.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_title(const char *title)
{
	size_t len = strlen(title);
	size_t chars = utf8_length(title, len);
	require(utf8_is_valid(title, len) && chars >= 1 && chars <= LINK_TITLE_CHARS_MAX);
	require(title[0] != ' ' && title[len - 1] != ' ');
	for (size_t at = 0; at < len; at += utf8_next(title + at, len - at))
		require(!utf8_is_control(title + at));
}

/* The first line is the end of the Content-Type, the rest the page. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char title[LINK_TITLE_SIZE];
	char type[128] = "text/html;";
	const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t len = line ? (size_t)(line - data) : 0;
	if (!line || len >= sizeof(type) - strlen(type))
		return 0;
	memcpy(type + strlen(type), data, len);
	char *page = mem_copy(line + 1, size - len - 1);
	if (page_title_read(type, page, size - len - 1, title) == OK)
		require_title(title);
	free(page);
	return 0;
}
