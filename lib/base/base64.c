#include "lib/base/base64.h"

#include <stdint.h>
#include <string.h>

static int value_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

enum err base64_decode(const char *text, void *out, size_t size, size_t *len)
{
	uint8_t *bytes = out;
	size_t count = 0, digits = strcspn(text, "=");
	uint32_t bits = 0;
	if (strspn(text + digits, "=") != strlen(text + digits))
		return ERR_INVALID;
	for (size_t i = 0; i < digits; i++) {
		int value = value_of(text[i]);
		if (value < 0)
			return ERR_INVALID;
		bits = bits << 6 | (uint32_t)value;
		if (i % 4 == 0)
			continue;
		if (count == size)
			return ERR_LIMIT;
		bytes[count++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	*len = count;
	return OK;
}
