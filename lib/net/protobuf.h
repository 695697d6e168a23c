/*
 * Safe from any thread. Reading protobuf messages that others wrote (protobuf-c). protobuf-c takes strings with NUL or
 * malformed UTF-8, which the wire format forbids and PostgreSQL refuses; here they are refused first.
 */
#ifndef WAYMARK_LIB_NET_PROTOBUF_H
#define WAYMARK_LIB_NET_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>

#include <stdint.h>

#include "lib/base/err.h"

struct ProtobufCMessageDescriptor;

/*
 * A message of this generated type, to be released with protobuf_free. NULL: the bytes are none; *problem (borrowed
 * from the type, or a literal) names the text field that is at fault, or says "message". len comes bounded by the
 * caller.
 */
void *protobuf_unpack(const struct ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                      const char **problem);
void protobuf_free(void *message);

/*
 * A reader of the wire format itself (https://protobuf.dev/programming-guides/encoding/), for messages that come by the
 * million: it copies nothing and takes no memory. Groups, which proto3 does not have, are malformed to it.
 */
enum protobuf_wire_type { PROTOBUF_VARINT = 0, PROTOBUF_64 = 1, PROTOBUF_LENGTH = 2, PROTOBUF_32 = 5 };

struct protobuf_wire {
	const uint8_t *at;
	const uint8_t *end;
};

struct protobuf_field {
	uint32_t number; /* at least 1 */
	enum protobuf_wire_type type;
	uint64_t value;    /* of a VARINT; 0 for the others */
	const char *bytes; /* of a LENGTH, borrowed from the message; NULL for the others */
	size_t len;
};

/* Moves wire over its next field. ERR_NOT_FOUND: there is none left. ERR_INVALID: malformed. */
enum err protobuf_next(struct protobuf_wire *wire, struct protobuf_field *out) MUST_CHECK;

/* Copies an unpacked string; false, and nothing is written, when it does not fit. */
bool protobuf_copy_text(const char *text, char *out, size_t size);

#endif
