#include "lib/http/http_text.h"

enum { TOKEN = 1, VALUE = 2, TARGET = 4, HOST = 8 };

static const unsigned char classes[256] = {
	['\t'] = VALUE,
	[' '] = VALUE,
	['!'] = TOKEN | VALUE | TARGET | HOST,
	['"'] = VALUE | TARGET,
	['#'] = TOKEN | VALUE | TARGET,
	['$' ... '\''] = TOKEN | VALUE | TARGET | HOST,
	['(' ... ')'] = VALUE | TARGET | HOST,
	['*' ... '+'] = TOKEN | VALUE | TARGET | HOST,
	[','] = VALUE | TARGET,
	['-' ... '.'] = TOKEN | VALUE | TARGET | HOST,
	['/'] = VALUE | TARGET,
	['0' ... '9'] = TOKEN | VALUE | TARGET | HOST,
	[':' ... ';'] = VALUE | TARGET | HOST,
	['<'] = VALUE | TARGET,
	['='] = VALUE | TARGET | HOST,
	['>' ... '@'] = VALUE | TARGET,
	['A' ... 'Z'] = TOKEN | VALUE | TARGET | HOST,
	['['] = VALUE | TARGET | HOST,
	['\\'] = VALUE | TARGET,
	[']'] = VALUE | TARGET | HOST,
	['^' ... '`'] = TOKEN | VALUE | TARGET | HOST,
	['a' ... 'z'] = TOKEN | VALUE | TARGET | HOST,
	['{'] = VALUE | TARGET | HOST,
	['|'] = TOKEN | VALUE | TARGET | HOST,
	['}'] = VALUE | TARGET | HOST,
	['~'] = TOKEN | VALUE | TARGET | HOST,
	[0x80 ... 0xff] = VALUE | TARGET | HOST,
};

static bool all_are(const char *text, size_t len, unsigned char class)
{
	for (size_t i = 0; i < len; i++)
		if (!(classes[(unsigned char)text[i]] & class))
			return false;
	return true;
}

bool http_text_is_token(const char *text, size_t len)
{
	return len > 0 && all_are(text, len, TOKEN);
}

bool http_text_is_value(const char *text, size_t len)
{
	return all_are(text, len, VALUE);
}

bool http_text_is_target(const char *text, size_t len)
{
	return all_are(text, len, TARGET);
}

bool http_text_is_host(const char *text, size_t len)
{
	return all_are(text, len, HOST);
}
