/*
 * One thread at a time per process start (libcurl). One HTTP request to a host of the global Internet, and what was
 * answered. No packet goes anywhere else: the host's addresses are looked up and judged here (global_lookup.h), libcurl
 * is given those and no others (CURLOPT_RESOLVE), and each socket is judged again right before it is opened. libcurl
 * never looks a name up, follows no redirect, uses no proxy whatever the environment says, and speaks HTTP/1.1 only.
 */
#ifndef WAYMARK_SERVICES_JANITOR_FETCH_H
#define WAYMARK_SERVICES_JANITOR_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "services/janitor/web_address.h"

/* From the look-up to the end of the answer. */
#define FETCH_TIMEOUT_MS 3000
/* Of the header, and of the body. More closes the connection. */
#define FETCH_BYTES_MAX 65536
/* The product token in User-Agent, by which a robots.txt names us. */
#define FETCH_AGENT "Waymark"

struct fetch_request {
	const char *resolvers; /* as in global_lookup.h */
	const struct web_address *address;
	bool is_head;
	struct strbuf *body; /* of FETCH_BYTES_MAX; NULL: the connection is closed when the body begins */
};

struct fetch_answer {
	int status;                          /* 200 to 999 */
	char location[WEB_ADDRESS_URL_SIZE]; /* of a redirect, absolute; "" = none, or too long */
};

/* Before the first request; at the end. */
void fetch_start(void);
void fetch_end(void);

/*
 * ERR_UNAVAILABLE: it was asked, or tried to, and there was no answer. ERR_LIMIT: none in time. ERR_NOT_FOUND: it was
 * not asked: it has no address, or one of them is not global; nobody outside shall learn which.
 */
enum err fetch_run(const struct fetch_request *request, struct fetch_answer *out) MUST_CHECK;

#endif
