#include "services/redirector/gate/basic_auth.h"

#include <string.h>
#include <strings.h>

#include "lib/base/base64.h"

#define SCHEME "Basic "

/* The result ends with a NUL and has no other one. */
static enum err decode(const char *text, char *out, size_t size)
{
	size_t len = 0;
	enum err err = base64_decode(text, out, size - 1, &len);
	if (err != OK || memchr(out, '\0', len))
		return err == OK ? ERR_INVALID : err;
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
