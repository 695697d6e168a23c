/*
 * Pure. The URL of a Redis server: redis://[[user]:password@]host[:port][/db], rediss:// for TLS, or
 * unix://[[user]:password@]/path[?db=N]. User, password and path may be percent-encoded; an IPv6
 * host has brackets.
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_URL_H
#define WAYMARK_LIB_REDIS_REDIS_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/env.h"
#include "lib/base/err.h"

/* Of REDIS_URL, with each byte of a long password escaped. */
#define REDIS_URL_SIZE 4096

struct redis_url {
	/* The path of a Unix socket; "": host and port. */
	char socket[108];
	char host[256];
	bool is_tls;
	/* Default 6379. */
	uint16_t port;
	char user[128];
	char password[1025];
	uint16_t db;
};

/* ERR_INVALID: text is not of that form, or a part is too long. */
enum err redis_url_parse(const char *text, struct redis_url *out) MUST_CHECK;

/* Where the server is, without its user and password: host:port, or the path of the socket. */
#define REDIS_URL_ADDRESS_SIZE 264
const char *redis_url_address(const struct redis_url *url,
                              char text[static REDIS_URL_ADDRESS_SIZE]);

/*
 * For the variable REDIS_URL: returns the number of problems and appends a line for each to
 * problems. The line names the part that is wrong, and never its value.
 */
size_t redis_url_check(const char *text, struct strbuf *problems);

/* Rows of a service's table of variables. The members of its struct config have these names. */
#define REDIS_URL_VARS(config_, timeout_ms_)                                                       \
	ENV_SECRET("REDIS_URL", config_, redis_url, NULL, 1,                                       \
	           "redis://[user:password@]host:port[/db], rediss:// for TLS, or "                \
	           "unix://[user:password@]/path[?db=N]"),                                         \
		ENV_TEXT("REDIS_SSL_CA_FILE", config_, redis_ssl_ca_file, "",                      \
	                 "CA certificates (PEM) for rediss://; empty: those of the system"),       \
		ENV_INT("REDIS_TIMEOUT_MS", config_, redis_timeout_ms, timeout_ms_, 1, 60000,      \
	                "timeout of one Redis command; its caller then goes on without Redis")

#endif
