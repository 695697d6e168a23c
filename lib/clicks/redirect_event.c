#include "lib/clicks/redirect_event.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/utf8.h"
#include "lib/links/slug.h"
#include "lib/protobuf/protobuf.h"

/* The maximum of PostgreSQL's integer. A click counts also if the process was suspended longer. */
#define LATENCY_MAX_US UINT32_C(2147483647)
/* The year 10000, when timestamps get longer. */
#define TIME_MAX_US (INT64_C(253402300800) * CLOCK_US_PER_S)

/*
 * Both directions are hand-written. Events come in millions, and protobuf-c takes longer for one
 * than the rest of its processing. The tests compare with the generated code, so they prove that the
 * field numbers match the .proto.
 */
enum field {
	EVENT_ID = 1,
	OCCURRED_AT_US = 2,
	LINK_ID = 3,
	SLUG = 4,
	LINK_VERSION = 5,
	CLIENT_NETWORK = 6,
	VISITOR_HASH = 7,
	USER_AGENT = 8,
	REFERRER = 9,
	ACCEPT_LANGUAGE = 10,
	HOST = 11,
	QUERY = 12,
	STATUS = 13,
	LATENCY_US = 14,
	METHOD = 15,
	PREFETCH = 16,
	REGION = 17,
	DESTINATION_HOST = 18,
	TRACEPARENT = 19,
	RULE = 20,
	VARIANT = 21,
	ALIAS = 22,
	IS_SCAN = 23,
	FIELDS,
};

/* The text fields and their members. */
static const struct {
	enum field field;
	size_t offset, size;
	const char *name;
} texts[] = {
#define TEXT(field, member)                                                                        \
	{                                                                                          \
		field, offsetof(struct redirect_event, member),                                    \
			sizeof(((struct redirect_event *)NULL)->member), #member                   \
	}
	TEXT(SLUG, slug),
	TEXT(CLIENT_NETWORK, client_network),
	TEXT(USER_AGENT, user_agent),
	TEXT(REFERRER, referrer),
	TEXT(ACCEPT_LANGUAGE, accept_language),
	TEXT(HOST, host),
	TEXT(QUERY, query),
	TEXT(REGION, region),
	TEXT(DESTINATION_HOST, destination_host),
	TEXT(TRACEPARENT, traceparent),
	TEXT(RULE, rule),
	TEXT(VARIANT, variant),
	TEXT(ALIAS, alias),
#undef TEXT
};
#define TEXTS ARRAY_SIZE(texts)
static_assert(REDIRECT_EVENT_BYTES_MAX >=
                      FIELDS * PROTOBUF_HEAD_BYTES_MAX + sizeof(struct redirect_event),
              "every event fits");

size_t redirect_event_encode(const struct redirect_event *event,
                             uint8_t out[static REDIRECT_EVENT_BYTES_MAX])
{
	uint32_t latency_us =
		event->latency_us < LATENCY_MAX_US ? event->latency_us : LATENCY_MAX_US;
	uint8_t *at = protobuf_put_bytes(out, EVENT_ID, event->event_id, sizeof(event->event_id));
	at = protobuf_put_number(at, OCCURRED_AT_US, (uint64_t)event->occurred_at_us);
	at = protobuf_put_number(at, LINK_ID, (uint64_t)event->link_id);
	at = protobuf_put_number(at, LINK_VERSION, (uint64_t)event->link_version);
	if (event->has_visitor_hash)
		at = protobuf_put_bytes(at, VISITOR_HASH, event->visitor_hash,
		                        sizeof(event->visitor_hash));
	at = protobuf_put_number(at, STATUS, event->status);
	at = protobuf_put_number(at, LATENCY_US, latency_us);
	at = protobuf_put_number(at, METHOD, event->method);
	at = protobuf_put_number(at, PREFETCH, event->prefetch);
	at = protobuf_put_number(at, IS_SCAN, event->is_scan);
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = (const char *)event + texts[i].offset;
		if (text[0] != '\0')
			at = protobuf_put_bytes(at, texts[i].field, text, strlen(text));
	}
	return (size_t)(at - out);
}

/* An absent field is all zeros, which reads as its default. */
struct fields {
	struct protobuf_field of[FIELDS];
};

static bool is_length_delimited(enum field field)
{
	switch (field) {
	case OCCURRED_AT_US:
	case LINK_ID:
	case LINK_VERSION:
	case STATUS:
	case LATENCY_US:
	case METHOD:
	case PREFETCH:
	case IS_SCAN:
		return false;
	default:
		return true;
	}
}

static bool read_fields(const void *bytes, size_t len, struct fields *out)
{
	struct protobuf_wire wire = { bytes, (const uint8_t *)bytes + len };
	struct protobuf_field field;
	enum err err;
	while ((err = protobuf_next(&wire, &field)) == OK) {
		if (field.number >= FIELDS)
			continue;
		if (field.type !=
		    (is_length_delimited(field.number) ? PROTOBUF_LENGTH : PROTOBUF_VARINT))
			return false;
		out->of[field.number] = field;
	}
	return err == ERR_NOT_FOUND;
}

/* Each validator below returns the name of the invalid field, or NULL. */

static const char *validate_ids(const struct fields *from)
{
	if (from->of[EVENT_ID].len != ENTROPY_UUID_SIZE)
		return "event_id";
	if (from->of[VISITOR_HASH].len != 0 && from->of[VISITOR_HASH].len != DIGEST_SIZE)
		return "visitor_hash";
	if ((int64_t)from->of[LINK_ID].value <= 0)
		return "link_id";
	if ((int64_t)from->of[LINK_VERSION].value <= 0)
		return "link_version";
	return NULL;
}

static const char *validate_numbers(const struct fields *from)
{
	int64_t occurred_at_us = (int64_t)from->of[OCCURRED_AT_US].value;
	if (occurred_at_us <= 0 || occurred_at_us >= TIME_MAX_US)
		return "occurred_at_us";
	if (from->of[STATUS].value < 100 || from->of[STATUS].value > 599)
		return "status";
	if (from->of[LATENCY_US].value > LATENCY_MAX_US)
		return "latency_us";
	if (from->of[METHOD].value < REDIRECT_METHOD_GET ||
	    from->of[METHOD].value > REDIRECT_METHOD_OTHER)
		return "method";
	return NULL;
}

static const char *validate_texts(const struct fields *from)
{
	for (size_t i = 0; i < TEXTS; i++) {
		const struct protobuf_field *field = &from->of[texts[i].field];
		if (field->len > 0 &&
		    (field->len >= texts[i].size || !utf8_is_valid(field->bytes, field->len)))
			return texts[i].name;
	}
	const struct protobuf_field *alias = &from->of[ALIAS];
	if (alias->len > 0 && !slug_is_valid(alias->bytes, alias->len))
		return "alias";
	return slug_is_valid(from->of[SLUG].bytes, from->of[SLUG].len) ? NULL : "slug";
}

static const char *validate(const struct fields *from)
{
	const char *problem = validate_ids(from);
	if (!problem)
		problem = validate_numbers(from);
	if (!problem)
		problem = validate_texts(from);
	return problem;
}

static void copy_bytes(const struct protobuf_field *field, void *out)
{
	if (field->len > 0)
		memcpy(out, field->bytes, field->len);
}

static void copy_fields(const struct fields *from, struct redirect_event *out)
{
	copy_bytes(&from->of[EVENT_ID], out->event_id);
	copy_bytes(&from->of[VISITOR_HASH], out->visitor_hash);
	out->has_visitor_hash = from->of[VISITOR_HASH].len > 0;
	if (!out->has_visitor_hash)
		memset(out->visitor_hash, 0, sizeof(out->visitor_hash));
	out->occurred_at_us = (int64_t)from->of[OCCURRED_AT_US].value;
	out->link_id = (int64_t)from->of[LINK_ID].value;
	out->link_version = (int64_t)from->of[LINK_VERSION].value;
	out->status = (uint32_t)from->of[STATUS].value;
	out->latency_us = (uint32_t)from->of[LATENCY_US].value;
	out->method = (enum redirect_method)from->of[METHOD].value;
	out->prefetch = from->of[PREFETCH].value != 0;
	out->is_scan = from->of[IS_SCAN].value != 0;
	for (size_t i = 0; i < TEXTS; i++) {
		const struct protobuf_field *field = &from->of[texts[i].field];
		char *text = (char *)out + texts[i].offset;
		copy_bytes(field, text);
		text[field->len] = '\0';
	}
}

enum err redirect_event_decode(const void *bytes, size_t len, struct redirect_event *out,
                               char reason[static REDIRECT_EVENT_REASON_SIZE])
{
	if (len > REDIRECT_EVENT_BYTES_MAX) {
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "message: %zu bytes", len);
		return ERR_INVALID;
	}
	struct fields fields = { 0 };
	const char *problem =
		len > 0 && read_fields(bytes, len, &fields) ? validate(&fields) : "message";
	if (problem) {
		snprintf(reason, REDIRECT_EVENT_REASON_SIZE, "%s", problem);
		return ERR_INVALID;
	}
	copy_fields(&fields, out);
	return OK;
}
