#include "lib/base/percent.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int percent_decode_next(const char *text, size_t len, size_t *at)
{
	char c = text[(*at)++];
	if (c != '%')
		return (unsigned char)c;
	if (len - *at < 2)
		return -1;
	int high = hex_digit(text[*at]);
	int low = hex_digit(text[*at + 1]);
	*at += 2;
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}
