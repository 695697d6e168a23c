/*
 * RedirectEvent (proto/waymark/v1/redirect_event.proto): one answered redirect, written by the
 * redirector and read by the analytics-consumer, in a RedirectBatch (redirect_batch.h). Pure.
 */
#ifndef WAYMARK_LIB_CLICKS_REDIRECT_EVENT_H
#define WAYMARK_LIB_CLICKS_REDIRECT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/err.h"
#include "lib/base/trace_context.h"
#include "lib/links/slug.h"

#define REDIRECT_EVENT_BYTES_MAX 4096
#define REDIRECT_EVENT_REASON_SIZE 96

#define REDIRECT_EVENT_USER_AGENT_MAX 400
#define REDIRECT_EVENT_REFERRER_MAX 256
#define REDIRECT_EVENT_LANGUAGE_MAX 64
#define REDIRECT_EVENT_HOST_MAX 128
#define REDIRECT_EVENT_QUERY_MAX 1280
#define REDIRECT_EVENT_REGION_MAX 32
#define REDIRECT_EVENT_DESTINATION_HOST_MAX 253
/* Of a rule or a variant, in bytes: 50 characters. */
#define REDIRECT_EVENT_NAME_MAX 200

/* The numbers are those of waymark.v1.Method. */
enum redirect_method {
	REDIRECT_METHOD_GET = 1,
	REDIRECT_METHOD_HEAD = 2,
	REDIRECT_METHOD_POST = 3,
	REDIRECT_METHOD_PUT = 4,
	REDIRECT_METHOD_PATCH = 5,
	REDIRECT_METHOD_DELETE = 6,
	REDIRECT_METHOD_OPTIONS = 7,
	REDIRECT_METHOD_OTHER = 8,
};

/* Holds no pointers, so it can be copied. Texts are valid UTF-8 without NUL; "" = absent. */
struct redirect_event {
	uint8_t event_id[ENTROPY_UUID_SIZE];
	int64_t occurred_at_us;
	int64_t link_id;
	int64_t link_version;
	uint32_t status;
	uint32_t latency_us;
	enum redirect_method method;
	bool prefetch;
	/* By the QR code of the link. */
	bool is_scan;
	bool has_visitor_hash;
	uint8_t visitor_hash[DIGEST_SIZE];
	char slug[SLUG_SIZE];
	char client_network[50];
	char user_agent[REDIRECT_EVENT_USER_AGENT_MAX + 1];
	char referrer[REDIRECT_EVENT_REFERRER_MAX + 1];
	char accept_language[REDIRECT_EVENT_LANGUAGE_MAX + 1];
	char host[REDIRECT_EVENT_HOST_MAX + 1];
	char query[REDIRECT_EVENT_QUERY_MAX + 1];
	char region[REDIRECT_EVENT_REGION_MAX + 1];
	char destination_host[REDIRECT_EVENT_DESTINATION_HOST_MAX + 1];
	char traceparent[TRACE_CONTEXT_SIZE];
	/* The names of the rule that decided and of the variant. */
	char rule[REDIRECT_EVENT_NAME_MAX + 1];
	char variant[REDIRECT_EVENT_NAME_MAX + 1];
	/* The earlier slug by which the visitor came. */
	char alias[SLUG_SIZE];
};

/* Where an encoded event has its event_id, which may be known later than the rest. */
#define REDIRECT_EVENT_ID_AT 2

/* Returns the length. Every event fits. */
size_t redirect_event_encode(const struct redirect_event *event,
                             uint8_t out[static REDIRECT_EVENT_BYTES_MAX]);

/*
 * ERR_INVALID: the bytes are not a RedirectEvent, or one that violates the .proto (lengths, ranges,
 * UTF-8 without NUL, IDs of zero: zero bytes parse to a default message). reason then names the
 * field. Bytes of out after the end of a text are left unchanged.
 */
enum err redirect_event_decode(const void *bytes, size_t len, struct redirect_event *out,
                               char reason[static REDIRECT_EVENT_REASON_SIZE]) MUST_CHECK;

#endif
