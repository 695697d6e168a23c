/*
 * International host names (UTS 46, ICU), with the options of browsers (WHATWG URL standard, "domain
 * to ASCII"): non-transitional, with the checks for joiners and for the direction of text (RFC 5893),
 * without those for hyphens. Emoji and symbols are valid. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_IDNA_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_IDNA_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_IDNA_ASCII_MAX 254 /* 253 and a trailing dot */

/*
 * Lower-case A-labels: "xn--i-7iq.ws" for "i❤.ws". name is valid UTF-8. False: browsers refuse the
 * name, or it is too long. ASCII characters that no host contains, and the lengths of labels, are
 * not checked.
 */
bool host_idna_to_ascii(const char *name, char out[static HOST_IDNA_ASCII_MAX + 1]);

/* The Unicode form of a host takes at most four bytes for each of its ASCII characters. */
#define HOST_IDNA_UNICODE_SIZE (4 * HOST_IDNA_ASCII_MAX + 1)

/*
 * The reverse, for people: "i❤.ws" for the len bytes "xn--i-7iq.ws". False: the host has no valid
 * A-label, or is too long.
 */
bool host_idna_to_unicode(const char *host, size_t len, char out[static HOST_IDNA_UNICODE_SIZE]);

#endif
