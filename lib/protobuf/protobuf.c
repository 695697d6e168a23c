#include "lib/protobuf/protobuf.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "lib/base/mem.h"
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
 * Messages. The wire is copied once, and texts stay where they are in the copy: the NUL behind a text
 * replaces the first byte of the next tag, as soon as that tag was read. Structs and arrays are
 * taken from the same block of memory. protobuf-c's own unpacking takes four times as long, with an
 * allocation for each text.
 */

#define ALIGNMENT sizeof(uint64_t)
/* Bytes of structs and arrays for each byte of the wire, in most messages. */
#define STRUCTS_PER_BYTE 6
/* The first room of an array; a power of two. */
#define ARRAY_MIN 4

struct block {
	struct block *next;
	/* Of bytes. */
	size_t used, size;
	/* The first block begins with the message. */
	alignas(ALIGNMENT) uint8_t bytes[];
};

struct unpacking {
	struct block *last;
	/* Behind a text that has no NUL yet; or NULL. */
	uint8_t *text_end;
	const char **problem;
};

static struct block *block_new(size_t size)
{
	struct block *block = mem_resize(NULL, 1, sizeof(*block) + size);
	block->next = NULL;
	block->used = 0;
	block->size = size;
	return block;
}

/* Every further block has room for twice as much as the one before. */
static inline void *take(struct unpacking *unpacking, size_t size)
{
	struct block *block = unpacking->last;
	size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	if (size > block->size - block->used) {
		block->next = block_new(2 * block->size + size);
		block = unpacking->last = block->next;
	}
	void *taken = block->bytes + block->used;
	block->used += size;
	return taken;
}

/* protobuf_next for what is mostly there: numbers of fields below 16, values and lengths below 128. */
static inline enum err next_field(struct protobuf_wire *wire, struct protobuf_field *out)
{
	const uint8_t *at = wire->at;
	if (wire->end - at < 2 || (at[0] | at[1]) >= 0x80 || at[0] < 8)
		return protobuf_next(wire, out);
	out->number = at[0] >> 3;
	out->type = (enum protobuf_wire_type)(at[0] & 7);
	out->value = at[1];
	out->bytes = NULL;
	out->len = 0;
	wire->at = at + 2;
	if (out->type == PROTOBUF_VARINT)
		return OK;
	if (out->type != PROTOBUF_LENGTH || at[1] > wire->end - wire->at) {
		wire->at = at;
		return protobuf_next(wire, out);
	}
	out->value = 0;
	out->bytes = (const char *)wire->at;
	out->len = at[1];
	wire->at += at[1];
	return OK;
}

static const ProtobufCFieldDescriptor *find_field(const ProtobufCMessageDescriptor *type,
                                                  uint32_t number)
{
	/* Mostly numbers have no gaps. */
	if (number <= type->n_fields && type->fields[number - 1].id == number)
		return &type->fields[number - 1];
	return protobuf_c_message_descriptor_get_field(type, number);
}

/* Of an element. 0: not a type of our messages. */
static size_t size_of(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
		return sizeof(uint32_t);
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_UINT64:
		return sizeof(uint64_t);
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return 0;
	}
}

static bool is_number(const ProtobufCFieldDescriptor *field)
{
	return field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES &&
	       field->type != PROTOBUF_C_TYPE_MESSAGE;
}

static bool set_number(const ProtobufCFieldDescriptor *field, uint64_t value, void *member)
{
	uint64_t zigzag = value >> 1 ^ (~(value & 1) + 1);
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
		*(uint32_t *)member = (uint32_t)value;
		return true;
	case PROTOBUF_C_TYPE_SINT32:
		*(uint32_t *)member = (uint32_t)zigzag;
		return true;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
		*(uint64_t *)member = value;
		return true;
	case PROTOBUF_C_TYPE_SINT64:
		*(uint64_t *)member = zigzag;
		return true;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)member = value != 0;
		return true;
	default:
		return false;
	}
}

/* Room for one more element of a repeated field. An array that is full moves to twice its room. */
static void *append(struct unpacking *unpacking, const ProtobufCFieldDescriptor *field,
                    uint8_t *message)
{
	size_t *count = (size_t *)(message + field->quantifier_offset);
	uint8_t **array = (uint8_t **)(message + field->offset);
	size_t size = size_of(field);
	bool is_full = *count >= ARRAY_MIN && (*count & (*count - 1)) == 0;
	if (*count == 0) {
		*array = take(unpacking, ARRAY_MIN * size);
	} else if (is_full) {
		uint8_t *larger = take(unpacking, 2 * *count * size);
		*array = memcpy(larger, *array, *count * size);
	}
	return *array + (*count)++ * size;
}

static void *unpack(struct unpacking *unpacking, const ProtobufCMessageDescriptor *type,
                    struct protobuf_wire wire);

static bool set_content(struct unpacking *unpacking, const ProtobufCFieldDescriptor *field,
                        const struct protobuf_field *found, void *member)
{
	uint8_t *bytes = (uint8_t *)found->bytes;
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		if (!utf8_is_valid(found->bytes, found->len)) {
			*unpacking->problem = field->name;
			return false;
		}
		*(char **)member = (char *)bytes;
		unpacking->text_end = bytes + found->len;
		return true;
	case PROTOBUF_C_TYPE_BYTES:
		*(ProtobufCBinaryData *)member = (ProtobufCBinaryData){ found->len, bytes };
		return true;
	case PROTOBUF_C_TYPE_MESSAGE:
		*(void **)member = unpack(unpacking, field->descriptor,
		                          (struct protobuf_wire){ bytes, bytes + found->len });
		return *(void **)member != NULL;
	default:
		return false;
	}
}

static bool add_packed(struct unpacking *unpacking, const ProtobufCFieldDescriptor *field,
                       const struct protobuf_field *found, uint8_t *message)
{
	struct protobuf_wire wire = { (const uint8_t *)found->bytes,
		                      (const uint8_t *)found->bytes + found->len };
	for (uint64_t value; protobuf_next_varint(&wire, &value);)
		if (!set_number(field, value, append(unpacking, field, message)))
			return false;
	return wire.at == wire.end;
}

static bool set_field(struct unpacking *unpacking, const ProtobufCFieldDescriptor *field,
                      const struct protobuf_field *found, uint8_t *message)
{
	void *member = message + field->offset;
	bool is_repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
	if (is_repeated && is_number(field) && found->bytes)
		return add_packed(unpacking, field, found, message);
	if (is_repeated)
		member = append(unpacking, field, message);
	else if (field->type == PROTOBUF_C_TYPE_MESSAGE && *(void **)member)
		return false;
	if (is_number(field))
		return found->type == PROTOBUF_VARINT && set_number(field, found->value, member);
	return found->bytes && set_content(unpacking, field, found, member);
}

static void end_text(struct unpacking *unpacking)
{
	if (unpacking->text_end)
		*unpacking->text_end = '\0';
	unpacking->text_end = NULL;
}

/* Our message types are not recursive, which bounds the depth. */
static void *unpack(struct unpacking *unpacking, const ProtobufCMessageDescriptor *type,
                    struct protobuf_wire wire)
{
	struct protobuf_field found;
	enum err err;
	uint8_t *message = take(unpacking, type->sizeof_message);
	type->message_init((ProtobufCMessage *)message);
	while ((err = next_field(&wire, &found)) == OK) {
		end_text(unpacking);
		const ProtobufCFieldDescriptor *field = find_field(type, found.number);
		if (field && !set_field(unpacking, field, &found, message))
			return NULL;
	}
	return err == ERR_NOT_FOUND ? message : NULL;
}

void *protobuf_unpack(const struct ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                      const char **problem)
{
	*problem = "message";
	if (len == 0)
		return NULL;
	/* Enough for most messages. The copy of the wire is behind what is taken. */
	size_t room = type->sizeof_message + STRUCTS_PER_BYTE * len;
	struct block *first = block_new(room + len + 1);
	first->size = room;
	uint8_t *wire = memcpy(first->bytes + room, bytes, len);
	struct unpacking unpacking = { first, NULL, problem };
	void *message = unpack(&unpacking, type, (struct protobuf_wire){ wire, wire + len });
	end_text(&unpacking);
	if (!message)
		protobuf_free(first->bytes);
	return message;
}

void protobuf_free(void *message)
{
	struct block *block =
		message ? (struct block *)((uint8_t *)message - offsetof(struct block, bytes))
			: NULL;
	while (block) {
		struct block *next = block->next;
		free(block);
		block = next;
	}
}

bool protobuf_copy_text(const char *text, char *out, size_t size)
{
	size_t len = strlen(text);
	if (len >= size)
		return false;
	memcpy(out, text, len + 1);
	return true;
}
