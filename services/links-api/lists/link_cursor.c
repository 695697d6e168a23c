#include "services/links-api/lists/link_cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/mem.h"

#define CHECKSUM_BYTES 8
#define POSITION_DIGITS 32

/* Two numbers of 16 hex digits each, then a checksum over these digits and query_key. */
void link_cursor_format(const struct link_cursor *cursor, const char *query_key,
                        char out[static LINK_CURSOR_SIZE])
{
	uint8_t digest[DIGEST_SIZE];
	size_t len = strlen(query_key);
	char *checked = mem_zero(POSITION_DIGITS + len + 1);
	snprintf(checked, POSITION_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, (uint64_t)cursor->key,
	         (uint64_t)cursor->id);
	memcpy(out, checked, POSITION_DIGITS);
	memcpy(checked + POSITION_DIGITS, query_key, len + 1);
	digest_sha256(checked, POSITION_DIGITS + len, digest);
	digest_hex(digest, CHECKSUM_BYTES, out + POSITION_DIGITS);
	free(checked);
}

static int64_t read_digits(const char *text)
{
	uint64_t number = 0;
	for (size_t i = 0; i < POSITION_DIGITS / 2; i++)
		number = number << 4 |
		         (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
	return (int64_t)number;
}

enum err link_cursor_parse(const char *text, const char *query_key, struct link_cursor *out)
{
	char same[LINK_CURSOR_SIZE];
	if (strlen(text) != LINK_CURSOR_SIZE - 1 ||
	    strspn(text, "0123456789abcdef") != LINK_CURSOR_SIZE - 1)
		return ERR_INVALID;
	struct link_cursor cursor = { .key = read_digits(text),
		                      .id = read_digits(text + POSITION_DIGITS / 2) };
	link_cursor_format(&cursor, query_key, same);
	if (strcmp(same, text) != 0)
		return ERR_INVALID;
	*out = cursor;
	return OK;
}
