#include "services/links-api/destinations/destination_host.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unicode/uidna.h>

#include "lib/base/url.h"
#include "lib/base/utf8.h"

#define LABEL_MAX 63
#define NAME_MAX_BYTES 253

#define IDNA_OPTIONS (UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII)
/* Browsers ignore these errors. has_valid_labels checks lengths and empty labels. */
#define IGNORED_ERRORS                                                                             \
	(UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG | UIDNA_ERROR_DOMAIN_NAME_TOO_LONG | \
	 UIDNA_ERROR_LEADING_HYPHEN | UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4)

static const char capital_sharp_s[] = "\xe1\xba\x9e"; /* U+1E9E */
static const char sharp_s[] = "\xc3\x9f";             /* U+00DF */

/* Browsers map ẞ to ß, as Unicode has since 15.1. The tables of ICU 72 still map it to "ss". */
static bool map_sharp_s(const char *name, char out[static DESTINATION_HOST_INPUT_MAX + 1])
{
	if (strlen(name) > DESTINATION_HOST_INPUT_MAX)
		return false;
	for (const char *found; (found = strstr(name, capital_sharp_s));) {
		out = mempcpy(out, name, (size_t)(found - name));
		out = stpcpy(out, sharp_s);
		name = found + strlen(capital_sharp_s);
	}
	memcpy(out, name, strlen(name) + 1);
	return true;
}

/*
 * Lower-case A-labels: "xn--i-7iq.ws" for "i❤.ws". False: browsers refuse the name, or it is too
 * long. ASCII characters that no host contains, and the lengths of labels, are not checked.
 */
static bool to_ascii(const char *name, char out[static DESTINATION_HOST_MAX + 1])
{
	char mapped[DESTINATION_HOST_INPUT_MAX + 1];
	if (!map_sharp_s(name, mapped))
		return false;
	UErrorCode status = U_ZERO_ERROR;
	UIDNAInfo info = UIDNA_INFO_INITIALIZER;
	UIDNA *idna = uidna_openUTS46(IDNA_OPTIONS, &status);
	int32_t len = uidna_nameToASCII_UTF8(idna, mapped, -1, out, DESTINATION_HOST_MAX + 1, &info,
	                                     &status);
	uidna_close(idna);
	return U_SUCCESS(status) && len <= DESTINATION_HOST_MAX &&
	       !(info.errors & ~(uint32_t)IGNORED_ERRORS);
}

static enum err reject(const char **reason, const char *because)
{
	*reason = because;
	return ERR_INVALID;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Browsers read "ex%61mple.com" as example.com. */
static bool unescape(const char *text, size_t len, char out[static DESTINATION_HOST_INPUT_MAX + 1])
{
	size_t n = 0;
	for (size_t at = 0; at < len; n++) {
		int c = url_decode_next(text, len, &at);
		if (c < 0)
			return false;
		out[n] = (char)c;
	}
	out[n] = '\0';
	return utf8_is_valid(out, n);
}

static bool has_valid_labels(const char *name)
{
	size_t len = strlen(name);
	if (len > 0 && name[len - 1] == '.')
		len--;
	if (len == 0 || len > NAME_MAX_BYTES)
		return false;
	size_t label = 0;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];
		if (c == '.') {
			if (label == 0)
				return false;
			label = 0;
			continue;
		}
		if (!isalnum((unsigned char)c) && c != '-' && c != '_')
			return false;
		if (++label > LABEL_MAX)
			return false;
	}
	return label > 0;
}

/* The last label, without a trailing dot. */
static void last_label(const char *name, char out[static LABEL_MAX + 1])
{
	size_t end = strlen(name);
	if (name[end - 1] == '.')
		end--;
	size_t begin = end;
	while (begin > 0 && name[begin - 1] != '.')
		begin--;
	snprintf(out, LABEL_MAX + 1, "%.*s", (int)(end - begin), name + begin);
}

/*
 * Parses a number in C notation, including "0x" and octal. False: not a number. Values above 32
 * bits become UINT64_MAX.
 */
static bool parse_number(const char *text, size_t len, uint64_t *out)
{
	unsigned base = 10;
	if (len >= 2 && text[0] == '0' && text[1] == 'x') {
		base = 16;
		text += 2;
		len -= 2;
	} else if (len >= 2 && text[0] == '0') {
		base = 8;
		text++;
		len--;
	}
	uint64_t value = 0;
	for (size_t i = 0; i < len; i++) {
		int digit = hex_value(text[i]);
		if (digit < 0 || (unsigned)digit >= base)
			return false;
		value = value * base + (unsigned)digit;
		if (value > UINT32_MAX) {
			*out = UINT64_MAX;
			value = UINT64_C(1) << 33;
		}
	}
	*out = value > UINT32_MAX ? UINT64_MAX : value;
	return true;
}

/* Such a name must be an IPv4 address. */
static bool ends_in_number(const char *name)
{
	char label[LABEL_MAX + 1];
	last_label(name, label);
	if (strspn(label, "0123456789") == strlen(label))
		return true;
	uint64_t value;
	return label[0] == '0' && label[1] == 'x' && parse_number(label, strlen(label), &value);
}

/* "127.1", "0x7f.1", "2130706433": the last number fills all remaining bytes. */
static bool parse_ipv4(const char *name, char out[static DESTINATION_HOST_MAX + 1])
{
	uint64_t parts[4] = { 0 };
	size_t count = 0;
	for (const char *part = name; *part;) {
		size_t len = strcspn(part, ".");
		if (count == 4 || !parse_number(part, len, &parts[count]))
			return false;
		count++;
		part += len + (part[len] == '.');
	}
	if (count == 0)
		return false;
	uint64_t address = 0;
	for (size_t i = 0; i + 1 < count; i++) {
		if (parts[i] > 255)
			return false;
		address |= parts[i] << (24 - 8 * i);
	}
	if (parts[count - 1] >= UINT64_C(1) << (8 * (5 - count)))
		return false;
	address |= parts[count - 1];
	snprintf(out, DESTINATION_HOST_MAX + 1, "%u.%u.%u.%u", (unsigned)(address >> 24),
	         (unsigned)(address >> 16 & 255), (unsigned)(address >> 8 & 255),
	         (unsigned)(address & 255));
	return true;
}

enum err destination_host_parse(const char *text, size_t len, struct destination_host *out,
                                const char **reason)
{
	struct destination_host host = { 0 };
	if (len == 0)
		return reject(reason, "has no host");
	if (len > DESTINATION_HOST_INPUT_MAX)
		return reject(reason, "has a host that is too long");
	if (text[0] == '[') {
		host.is_address = true;
		if (!url_ipv6_normalise(text, len, host.text))
			return reject(reason, "has a malformed IPv6 address");
		*out = host;
		return OK;
	}

	char name[DESTINATION_HOST_INPUT_MAX + 1] = "";
	char ascii[DESTINATION_HOST_MAX + 1] = "";
	if (!unescape(text, len, name) || !to_ascii(name, ascii) || !has_valid_labels(ascii))
		return reject(reason, "has an invalid host name");
	host.is_address = ends_in_number(ascii);
	if (!host.is_address)
		memcpy(host.text, ascii, sizeof(ascii));
	else if (!parse_ipv4(ascii, host.text))
		return reject(reason, "has a malformed IPv4 address");
	*out = host;
	return OK;
}

/* The form in which hosts are compared. */
static void comparable_name(const struct destination_host *host,
                            char out[static DESTINATION_HOST_MAX + 1])
{
	size_t len = strlen(host->text);
	if (url_ipv6_is_ipv4(host->text, len, out))
		return;
	if (len > 0 && host->text[len - 1] == '.')
		len--;
	memcpy(out, host->text, len);
	out[len] = '\0';
}

bool destination_host_equal(const struct destination_host *a, const struct destination_host *b)
{
	char x[DESTINATION_HOST_MAX + 1], y[DESTINATION_HOST_MAX + 1];
	comparable_name(a, x);
	comparable_name(b, y);
	return strcmp(x, y) == 0;
}

bool destination_host_to_unicode(const char *host, size_t len,
                                 char out[static DESTINATION_HOST_UNICODE_SIZE])
{
	if (len > DESTINATION_HOST_MAX || !memmem(host, len, "xn--", 4))
		return false;
	UErrorCode status = U_ZERO_ERROR;
	UIDNAInfo info = UIDNA_INFO_INITIALIZER;
	UIDNA *idna = uidna_openUTS46(IDNA_OPTIONS | UIDNA_NONTRANSITIONAL_TO_UNICODE, &status);
	int32_t out_len = uidna_nameToUnicodeUTF8(idna, host, (int32_t)len, out,
	                                          DESTINATION_HOST_UNICODE_SIZE, &info, &status);
	uidna_close(idna);
	return U_SUCCESS(status) && out_len < DESTINATION_HOST_UNICODE_SIZE &&
	       !(info.errors & ~(uint32_t)IGNORED_ERRORS);
}
