/*
 * One HTTP request to a URL that a stranger chose, which must be a host of the public Internet: http
 * or https on the usual ports of web servers (80, 443, 8080, 8443), so that nobody can probe other
 * services of a third party. Safe from any thread between fetch_start and fetch_end.
 *
 * The request must not reach a private address (server-side request forgery). Three measures ensure
 * it:
 * - global_resolver.h resolves the host and rejects it if any address is not global;
 * - libcurl gets only those addresses (CURLOPT_RESOLVE) and resolves nothing itself;
 * - each socket's address is checked again before it is opened.
 *
 * libcurl follows no redirects, ignores proxy settings of the environment, and speaks HTTP/1.1
 * only.
 */
#ifndef WAYMARK_LIB_FETCH_FETCH_H
#define WAYMARK_LIB_FETCH_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

/* Limits the header and the body. The connection is closed when either is longer. */
#define FETCH_BYTES_MAX 65536
/* The product token in User-Agent, by which a robots.txt addresses us. */
#define FETCH_AGENT "Waymark"
#define FETCH_HOST_SIZE 254
#define FETCH_URL_MAX 8192
#define FETCH_TYPE_SIZE 128

struct fetch_url {
	/* With a port and without fragment. */
	char url[FETCH_URL_MAX + 9];
	/* "example.com", "192.0.2.1", "2001:db8::1": lower case, no brackets, no dot at the end */
	char host[FETCH_HOST_SIZE];
	uint16_t port;
};

/*
 * ERR_INVALID: not a URL that may be requested: another scheme, user info, a host that is neither a
 * name in ASCII nor an address in its usual form, or too long. ERR_LIMIT: its port is not allowed. The host may still
 * be a private one: see global_resolver.h.
 */
enum err fetch_url_parse(const char *url, struct fetch_url *out) MUST_CHECK;

/* The same server with another path, such as "/robots.txt", of at most 100 bytes, and no query. */
void fetch_url_with_path(const struct fetch_url *url, const char *path, struct fetch_url *out);

struct fetch_request {
	/* As in global_resolver.h. */
	const char *resolvers;
	const struct fetch_url *url;
	/* For User-Agent: "checks the destinations of links". */
	const char *purpose;
	/* From the name lookup to the end of the response. */
	int64_t timeout_ms;
	bool is_head;
	/*
	 * Of FETCH_BYTES_MAX; NULL: close the connection when the body begins. It keeps what came until
	 * a limit was reached.
	 */
	struct strbuf *body;
};

struct fetch_response {
	/* 200 to 999. */
	int status;
	/* Of a redirect (301, 302, 303, 307, 308), absolute; "" = none, or too long. */
	char location[FETCH_URL_MAX + 1];
	/* Content-Type; "" = none, or too long. */
	char type[FETCH_TYPE_SIZE];
};

/* Initialise and release libcurl and c-ares. One thread: before the first request, after the last. */
void fetch_start(void);
void fetch_end(void);

/*
 * ERR_UNAVAILABLE: the host gave no response. ERR_LIMIT: it gave none in time. ERR_NOT_FOUND: no
 * request was sent, because the host has no address or one that is not global. The two cases are
 * the same error, so that nobody outside learns about private addresses.
 */
enum err fetch_run(const struct fetch_request *request, struct fetch_response *out) MUST_CHECK;

#endif
