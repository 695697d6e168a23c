#include "lib/base/mail_address.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"

#define LOCAL_MAX 64

static bool is_atom(unsigned char c)
{
	return isalnum(c) || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c));
}

static bool is_of_domain(unsigned char c)
{
	return isalnum(c) || c == '-';
}

/* Parts of allowed characters with single dots between them, up to end. */
static bool is_dotted(const char *text, const char *end, bool (*is_allowed)(unsigned char c))
{
	bool is_after_dot = true;
	for (; text < end; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '.' ? is_after_dot : c >= 0x80 || !is_allowed(c))
			return false;
		is_after_dot = c == '.';
	}
	return !is_after_dot;
}

bool mail_address_is_valid(const char *text)
{
	const char *at = strchr(text, '@');
	size_t len = strlen(text);
	return at && len <= MAIL_ADDRESS_MAX && at - text <= LOCAL_MAX &&
	       is_dotted(text, at, is_atom) && is_dotted(at + 1, text + len, is_of_domain);
}

static bool is_line(const char *text, size_t len)
{
	if (len >= MAIL_ADDRESS_NAME_SIZE || !utf8_is_valid(text, len))
		return false;
	for (size_t i = 0; i < len; i += utf8_next(text + i, len - i))
		if (utf8_is_control(text + i))
			return false;
	return true;
}

enum err mail_address_split(const char *sender, char name[static MAIL_ADDRESS_NAME_SIZE],
                            char address[static MAIL_ADDRESS_SIZE])
{
	char read[MAIL_ADDRESS_SIZE];
	const char *from = strrchr(sender, '<');
	size_t len = from ? strlen(from) : 0, name_len = from ? (size_t)(from - sender) : 0;
	if (from && (from[len - 1] != '>' || len - 2 > MAIL_ADDRESS_MAX))
		return ERR_INVALID;
	int written = from ? snprintf(read, sizeof(read), "%.*s", (int)len - 2, from + 1)
	                   : snprintf(read, sizeof(read), "%s", sender);
	while (name_len > 0 && sender[name_len - 1] == ' ')
		name_len--;
	if (written < 0 || (size_t)written >= sizeof(read) || !mail_address_is_valid(read) ||
	    !is_line(sender, name_len))
		return ERR_INVALID;
	snprintf(name, MAIL_ADDRESS_NAME_SIZE, "%.*s", (int)name_len, sender);
	memcpy(address, read, sizeof(read));
	return OK;
}
