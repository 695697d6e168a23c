/*
 * Safe from any thread. Reads protobuf messages of untrusted origin with protobuf-c. protobuf-c
 * accepts strings with NUL or invalid UTF-8, which the wire format forbids and PostgreSQL rejects;
 * this module rejects them first.
 */
#ifndef WAYMARK_LIB_PROTOBUF_PROTOBUF_H
#define WAYMARK_LIB_PROTOBUF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct ProtobufCMessageDescriptor;

/*
 * Unpacks a message of this generated type; release it with protobuf_free. NULL: malformed;
 * *problem then names the invalid text field, or is "message". It is borrowed from type, or a
 * literal. The caller bounds len. Most messages take one allocation; no part of a message may be
 * freed alone. Types with a oneof, with numbers of fixed length or with themselves are not supported,
 * and a message in a field that is not repeated may be there once.
 */
void *protobuf_unpack(const struct ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                      const char **problem);
void protobuf_free(void *message);

/*
 * A reader of the wire format (https://protobuf.dev/programming-guides/encoding/) for hot paths: it
 * copies nothing and allocates nothing. It rejects groups, which proto3 does not have.
 */
enum protobuf_wire_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_64 = 1,
	PROTOBUF_LENGTH = 2,
	PROTOBUF_32 = 5
};

struct protobuf_wire {
	const uint8_t *at;
	const uint8_t *end;
};

struct protobuf_field {
	/* At least 1. */
	uint32_t number;
	enum protobuf_wire_type type;
	/* Of a VARINT; else 0. */
	uint64_t value;
	/* Of a LENGTH, borrowed from the message; else NULL. */
	const char *bytes;
	size_t len;
};

/* Reads the next field. ERR_NOT_FOUND: no field is left. ERR_INVALID: malformed. */
enum err protobuf_next(struct protobuf_wire *wire, struct protobuf_field *out) MUST_CHECK;
/* Reads the next number of a packed field. False: none is left, or it is malformed. */
bool protobuf_next_varint(struct protobuf_wire *wire, uint64_t *out);

/* The tag of a field, and a number or a length. */
#define PROTOBUF_HEAD_BYTES_MAX 15

/*
 * A writer of the wire format for hot paths. Each writes a field, or nothing if it has its default,
 * and returns the position after it. The caller has room for PROTOBUF_HEAD_BYTES_MAX and len bytes.
 */
uint8_t *protobuf_put_number(uint8_t *at, uint32_t field, uint64_t value);
uint8_t *protobuf_put_bytes(uint8_t *at, uint32_t field, const void *bytes, size_t len);
/* The tag and the length of a field whose len bytes the caller writes itself. */
uint8_t *protobuf_put_length(uint8_t *at, uint32_t field, size_t len);
/* A number of a packed field. */
uint8_t *protobuf_put_varint(uint8_t *at, uint64_t value);

/* Copies an unpacked string. False: it does not fit; nothing is written. */
bool protobuf_copy_text(const char *text, char *out, size_t size);

#endif
