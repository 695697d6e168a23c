#include "lib/net/protobuf.h"

#include <stdint.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "lib/base/utf8.h"

/* The wire types of https://protobuf.dev/programming-guides/encoding/. Groups do not exist in proto3. */
enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_LENGTH = 2, WIRE_32 = 5 };

struct wire {
	const uint8_t *at;
	const uint8_t *end;
};

static bool read_varint(struct wire *wire, uint64_t *out)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && wire->at < wire->end; shift += 7) {
		uint8_t byte = *wire->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = value;
			return true;
		}
	}
	return false;
}

static bool skip(struct wire *wire, uint64_t len)
{
	if (len > (uint64_t)(wire->end - wire->at))
		return false;
	wire->at += len;
	return true;
}

/* One field's value; *content is what a length-delimited one holds, and empty for the others. */
static bool read_value(struct wire *wire, unsigned wire_type, struct wire *content)
{
	uint64_t number;
	*content = (struct wire){ wire->end, wire->end };
	switch (wire_type) {
	case WIRE_VARINT:
		return read_varint(wire, &number);
	case WIRE_64:
		return skip(wire, 8);
	case WIRE_32:
		return skip(wire, 4);
	case WIRE_LENGTH:
		if (!read_varint(wire, &number))
			return false;
		content->at = wire->at;
		if (!skip(wire, number))
			return false;
		content->end = wire->at;
		return true;
	default:
		return false;
	}
}

/* protobuf-c gives strings as C strings: what stood behind a NUL can only be seen before it unpacks. Our message types
 * are never recursive, which bounds the depth. */
static bool texts_are_valid(const ProtobufCMessageDescriptor *type, struct wire wire, const char **problem)
{
	while (wire.at < wire.end) {
		uint64_t tag;
		struct wire content;
		if (!read_varint(&wire, &tag) || !read_value(&wire, tag & 7, &content))
			return false;
		if ((tag & 7) != WIRE_LENGTH || tag >> 3 > UINT32_MAX)
			continue;
		const ProtobufCFieldDescriptor *field =
			protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
		if (!field)
			continue;
		if (field->type == PROTOBUF_C_TYPE_STRING &&
		    !utf8_is_valid((const char *)content.at, (size_t)(content.end - content.at))) {
			*problem = field->name;
			return false;
		}
		if (field->type == PROTOBUF_C_TYPE_MESSAGE && !texts_are_valid(field->descriptor, content, problem))
			return false;
	}
	return true;
}

void *protobuf_unpack(const struct ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                      const char **problem)
{
	*problem = "message";
	if (len == 0 || !texts_are_valid(type, (struct wire){ bytes, (const uint8_t *)bytes + len }, problem))
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
