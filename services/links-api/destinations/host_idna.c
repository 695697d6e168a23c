#include "services/links-api/destinations/host_idna.h"

#include <string.h>
#include <unicode/uidna.h>

#include "services/links-api/destinations/destination_host.h"

#define OPTIONS (UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ | UIDNA_NONTRANSITIONAL_TO_ASCII)
/* Browsers ignore these errors. destination_host.c checks lengths and empty labels. */
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

bool host_idna_to_ascii(const char *name, char out[static HOST_IDNA_ASCII_MAX + 1])
{
	char mapped[DESTINATION_HOST_INPUT_MAX + 1];
	if (!map_sharp_s(name, mapped))
		return false;
	UErrorCode status = U_ZERO_ERROR;
	UIDNAInfo info = UIDNA_INFO_INITIALIZER;
	UIDNA *idna = uidna_openUTS46(OPTIONS, &status);
	int32_t len = uidna_nameToASCII_UTF8(idna, mapped, -1, out, HOST_IDNA_ASCII_MAX + 1, &info,
	                                     &status);
	uidna_close(idna);
	return U_SUCCESS(status) && len <= HOST_IDNA_ASCII_MAX &&
	       !(info.errors & ~(uint32_t)IGNORED_ERRORS);
}

bool host_idna_to_unicode(const char *host, size_t len, char out[static HOST_IDNA_UNICODE_SIZE])
{
	if (len > HOST_IDNA_ASCII_MAX || !memmem(host, len, "xn--", 4))
		return false;
	UErrorCode status = U_ZERO_ERROR;
	UIDNAInfo info = UIDNA_INFO_INITIALIZER;
	UIDNA *idna = uidna_openUTS46(OPTIONS | UIDNA_NONTRANSITIONAL_TO_UNICODE, &status);
	int32_t out_len = uidna_nameToUnicodeUTF8(idna, host, (int32_t)len, out,
	                                          HOST_IDNA_UNICODE_SIZE, &info, &status);
	uidna_close(idna);
	return U_SUCCESS(status) && out_len < HOST_IDNA_UNICODE_SIZE &&
	       !(info.errors & ~(uint32_t)IGNORED_ERRORS);
}
