/*
 * Pure. The URL of a Redis server: redis://[[user]:password@]host[:port][/db]. User and password
 * may be percent-encoded; an IPv6 host has brackets.
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_URL_H
#define WAYMARK_LIB_REDIS_REDIS_URL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

struct redis_url {
	char host[256];
	/* Default 6379. */
	uint16_t port;
	char user[128];
	char password[256];
	uint16_t db;
};

/* ERR_INVALID: text is not of that form, or a part is too long. */
enum err redis_url_parse(const char *text, struct redis_url *out) MUST_CHECK;

/*
 * For the variable REDIS_URL: returns the number of problems and appends a line for each to
 * problems. The line names the part that is wrong, and never its value.
 */
size_t redis_url_check(const char *text, struct strbuf *problems);

#endif
