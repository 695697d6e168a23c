#include "services/redirector/gate/basic_auth.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#define SCHEME "Basic "

static int value_of(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Padding may be missing. The result ends with a NUL and has no other one. */
static enum err decode(const char *text, char *out, size_t size)
{
	size_t len = 0, digits = strcspn(text, "=");
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
		char byte = (char)(bits >> (6 - 2 * (i % 4)));
		if (byte == '\0')
			return ERR_INVALID;
		if (len + 1 == size)
			return ERR_LIMIT;
		out[len++] = byte;
	}
	out[len] = '\0';
	return OK;
}

enum err basic_auth_password(const char *header, char *out, size_t size)
{
	if (strncasecmp(header, SCHEME, sizeof(SCHEME) - 1) != 0)
		return ERR_INVALID;
	const char *text = header + sizeof(SCHEME) - 1;
	enum err err = decode(text + strspn(text, " "), out, size);
	char *colon = err == OK ? strchr(out, ':') : NULL;
	if (err == OK && !colon)
		err = ERR_INVALID;
	if (err == OK)
		memmove(out, colon + 1, strlen(colon + 1) + 1);
	return err;
}
