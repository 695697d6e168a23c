/*
 * One thread at a time. An HTTP response as a value. It is built before the commit of the change
 * that it describes, sent after the commit, and stored for repeats of the same Idempotency-Key.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_STORED_RESPONSE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_STORED_RESPONSE_H

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/request.h"
#include "services/links-api/links/etag.h"

#define STORED_RESPONSE_LOCATION_SIZE (PUBLIC_BASE_SHORT_URL_SIZE + 32)
/*
 * 1,000 links with two URLs of maximal length, plus 2 MiB of titles and tags, stay below 10 MiB.
 * Notes are at most 8,000 bytes each.
 */
#define STORED_RESPONSE_BODY_MAX (20 * 1024 * 1024)

struct stored_response {
	unsigned status;
	/* "" = no header; the same for etag. */
	char location[STORED_RESPONSE_LOCATION_SIZE];
	char etag[ETAG_SIZE];
	/* JSON. */
	struct strbuf body;
};

void stored_response_init(struct stored_response *response);
void stored_response_clear(struct stored_response *response);
/*
 * Replaces status and body; Location and ETag stay. Takes body. ERR_LIMIT: body is longer than
 * STORED_RESPONSE_BODY_MAX.
 */
enum err stored_response_set(struct stored_response *response, unsigned status,
                             struct json *body) MUST_CHECK;

enum http_progress stored_response_send(struct request *r, const struct stored_response *response);

#endif
