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

#endif
