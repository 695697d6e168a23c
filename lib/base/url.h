/*
 * Splits absolute URLs, "scheme://[user@]host[:port][/path][?query][#fragment]", for everything
 * here that reads one. It decides where the parts begin and end, and not whether they are sensible:
 * the caller checks schemes, hosts and users. Pure.
 *
 * A backslash ends the authority, as browsers have it; callers that must not guess refuse it first.
 */
#ifndef WAYMARK_LIB_BASE_URL_H
#define WAYMARK_LIB_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Borrowed from the URL. text is NULL if the part is absent; the host may be empty instead. */
struct url_part {
	const char *text;
	size_t len;
};

struct url {
	struct url_part scheme;
	/* Up to the last "@" of the authority. */
	struct url_part user;
	/* An IPv6 address keeps its brackets. */
	struct url_part host;
	struct url_part port;
	/* Never absent; "" or from its slash on. */
	struct url_part path;
	/* Without "?" and "#". */
	struct url_part query;
	struct url_part fragment;
};

/*
 * text: len bytes. ERR_INVALID: no scheme and "://" at the start, a bracket that is not closed, or
 * something else than a port of digits after the host.
 */
enum err url_split(const char *text, size_t len, struct url *out) MUST_CHECK;

/* Whether the part is this text, in any case of letters. */
bool url_part_is(struct url_part part, const char *text);

/* 1 to 65535. ERR_INVALID: another number, or an empty port. */
enum err url_port(struct url_part part, uint16_t *out) MUST_CHECK;

/*
 * Percent-decoding (RFC 3986, 2.1), one byte at a time: callers differ in which bytes they accept
 * and in what else they decode.
 *
 *   for (size_t at = 0; at < len;) {
 *           int c = url_decode_next(text, len, &at);
 *           if (c < 0)
 *                   return ERR_INVALID;
 *           ...
 *   }
 *
 * The byte at *at, decoded if it is an escape ("%2f"); moves *at past it. *at must be less than
 * len. -1: a malformed escape.
 */
int url_decode_next(const char *text, size_t len, size_t *at);

#define URL_IPV6_SIZE 42 /* brackets, eight pieces, seven colons, NUL */

/*
 * Writes an IPv6 host as browsers do, so that each address has one spelling (WHATWG URL standard,
 * "IPv6 serializer"). text: len bytes such as "[2001:DB8:0::7]". False: not an IPv6 host; out is
 * unchanged.
 */
bool url_ipv6_normalise(const char *text, size_t len, char out[static URL_IPV6_SIZE]);

#define URL_IPV6_IPV4_SIZE 16

/*
 * Whether text, as above, contains an IPv4 address that leads to the same host: mapped
 * (::ffff:0:0/96, RFC 4291) or translated (64:ff9b::/96, RFC 6052). out: "203.0.113.7". False: out
 * is unchanged.
 */
bool url_ipv6_is_ipv4(const char *text, size_t len, char out[static URL_IPV6_IPV4_SIZE]);

#endif
