#include "lib/protobuf/protobuf.h"

#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "lib/base/utf8.h"

#define NUMBER_MAX 0x1fffffff

/* Copies of the positions stay in registers, because bytes may alias anything. */
bool protobuf_next_varint(struct protobuf_wire *wire, uint64_t *out)
{
	const uint8_t *at = wire->at;
	const uint8_t *end = wire->end;
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
		uint8_t byte = *at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			wire->at = at;
			*out = value;
			return true;
		}
	}
	return false;
}

static bool skip(struct protobuf_wire *wire, uint64_t len)
{
	if (len > (uint64_t)(wire->end - wire->at))
		return false;
	wire->at += len;
	return true;
}

static bool read_value(struct protobuf_wire *wire, struct protobuf_field *out)
{
	uint64_t len;
	switch (out->type) {
	case PROTOBUF_VARINT:
		return protobuf_next_varint(wire, &out->value);
	case PROTOBUF_64:
		return skip(wire, 8);
	case PROTOBUF_32:
		return skip(wire, 4);
	case PROTOBUF_LENGTH:
		if (!protobuf_next_varint(wire, &len))
			return false;
		out->bytes = (const char *)wire->at;
		out->len = (size_t)len;
		return skip(wire, len);
	}
	return false;
}

enum err protobuf_next(struct protobuf_wire *wire, struct protobuf_field *out)
{
	uint64_t tag;
	if (wire->at == wire->end)
		return ERR_NOT_FOUND;
	if (!protobuf_next_varint(wire, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return ERR_INVALID;
	*out = (struct protobuf_field){ .number = (uint32_t)(tag >> 3),
		                        .type = (enum protobuf_wire_type)(tag & 7) };
	return read_value(wire, out) ? OK : ERR_INVALID;
}

uint8_t *protobuf_put_varint(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

uint8_t *protobuf_put_number(uint8_t *at, uint32_t field, uint64_t value)
{
	if (value == 0)
		return at;
	at = protobuf_put_varint(at, field << 3 | PROTOBUF_VARINT);
	return protobuf_put_varint(at, value);
}

uint8_t *protobuf_put_length(uint8_t *at, uint32_t field, size_t len)
{
	at = protobuf_put_varint(at, field << 3 | PROTOBUF_LENGTH);
	return protobuf_put_varint(at, len);
}

uint8_t *protobuf_put_bytes(uint8_t *at, uint32_t field, const void *bytes, size_t len)
{
	if (len == 0)
		return at;
	at = protobuf_put_length(at, field, len);
	memcpy(at, bytes, len);
	return at + len;
}

/*
 * Runs before unpacking, because protobuf-c returns C strings, which hide everything after a NUL.
 * Our message types are not recursive, which bounds the depth.
 */
static bool texts_are_valid(const ProtobufCMessageDescriptor *type, struct protobuf_wire wire,
                            const char **problem)
{
	struct protobuf_field found;
	enum err err;
	while ((err = protobuf_next(&wire, &found)) == OK) {
		const ProtobufCFieldDescriptor *field =
			found.bytes ? protobuf_c_message_descriptor_get_field(type, found.number)
				    : NULL;
		if (!field)
			continue;
		if (field->type == PROTOBUF_C_TYPE_STRING &&
		    !utf8_is_valid(found.bytes, found.len)) {
			*problem = field->name;
			return false;
		}
		const uint8_t *content = (const uint8_t *)found.bytes;
		if (field->type == PROTOBUF_C_TYPE_MESSAGE &&
		    !texts_are_valid(field->descriptor,
		                     (struct protobuf_wire){ content, content + found.len },
		                     problem))
			return false;
	}
	return err == ERR_NOT_FOUND;
}

void *protobuf_unpack(const struct ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                      const char **problem)
{
	*problem = "message";
	if (len == 0 ||
	    !texts_are_valid(type, (struct protobuf_wire){ bytes, (const uint8_t *)bytes + len },
	                     problem))
		return NULL;
	return protobuf_c_message_unpack(type, NULL, len, bytes);
}

void protobuf_free(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}

bool protobuf_copy_text(const char *text, char *out, size_t size)
{
	size_t len = strlen(text);
	if (len >= size)
		return false;
	memcpy(out, text, len + 1);
	return true;
}
