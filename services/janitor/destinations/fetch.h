/*
 * One thread at a time per process start (libcurl). One HTTP request to a host of the public
 * Internet.
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
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_FETCH_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "services/janitor/destinations/fetch_url.h"

/* From the name lookup to the end of the response. */
#define FETCH_TIMEOUT_MS 3000
/* Limits the header and the body. The connection is closed when either is longer. */
#define FETCH_BYTES_MAX 65536
/* The product token in User-Agent, by which a robots.txt addresses us. */
#define FETCH_AGENT "Waymark"

struct fetch_request {
	/* As in global_resolver.h. */
	const char *resolvers;
	const struct fetch_url *url;
	bool is_head;
	/* Of FETCH_BYTES_MAX; NULL: close the connection when the body begins. */
	struct strbuf *body;
};

struct fetch_response {
	/* 200 to 999. */
	int status;
	/* Of a redirect, absolute; "" = none, or too long. */
	char location[FETCH_URL_SIZE];
};

/* Initialises and releases libcurl: before the first request, after the last. */
void fetch_start(void);
void fetch_end(void);

/*
 * ERR_UNAVAILABLE: the host gave no response. ERR_LIMIT: it gave none in time. ERR_NOT_FOUND: no
 * request was sent, because the host has no address or one that is not global. The two cases are
 * the same error, so that nobody outside learns about private addresses.
 */
enum err fetch_run(const struct fetch_request *request, struct fetch_response *out) MUST_CHECK;

#endif
