/*
 * One thread at a time. An answer as a value: made before the commit of what it tells of, sent after it, and kept for
 * whoever sends the same request again.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_KEPT_ANSWER_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_KEPT_ANSWER_H

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/net/json.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/links/etag.h"
#include "services/links-api/request.h"

#define KEPT_ANSWER_LOCATION_SIZE (PUBLIC_BASE_SHORT_URL_SIZE + 32)
/* 1,000 links with two URLs of the greatest length, and titles and tags of 2 MiB together, are below 10 MiB. */
#define KEPT_ANSWER_BODY_MAX (12 * 1024 * 1024)

struct kept_answer {
	unsigned status;
	char location[KEPT_ANSWER_LOCATION_SIZE]; /* "" = none, as etag */
	char etag[ETAG_SIZE];
	struct strbuf body; /* JSON */
};

void kept_answer_init(struct kept_answer *answer);
void kept_answer_clear(struct kept_answer *answer);
/* In the place of what was there. Takes body. ERR_LIMIT: it is longer than KEPT_ANSWER_BODY_MAX. */
enum err kept_answer_set(struct kept_answer *answer, unsigned status, struct json *body) MUST_CHECK;

/* Bytes for kept_answer_unpack. The buffer is initialised here; clear it. */
void kept_answer_pack(const struct kept_answer *answer, struct strbuf *out);
/* ERR_INVALID: not what kept_answer_pack writes; the answer is as it was. */
enum err kept_answer_unpack(const void *bytes, size_t len, struct kept_answer *answer) MUST_CHECK;

enum http_progress kept_answer_send(struct request *r, const struct kept_answer *answer);

#endif
