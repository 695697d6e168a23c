/*
 * Messages from anywhere; the first byte chooses the type. What is unpacked here is unpacked by
 * protobuf-c as well, and its own writing means the same to both.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/protobuf/protobuf.h"
#include "waymark/v1/link_event.pb-c.h"
#include "waymark/v1/link_extras.pb-c.h"
#include "waymark/v1/redirect_event.pb-c.h"
#include "waymark/v1/visit_event.pb-c.h"
#include "waymark/v1/watermark.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const ProtobufCMessageDescriptor *const types[] = {
	&waymark__v1__link_extras__descriptor,    &waymark__v1__link_event__descriptor,
	&waymark__v1__redirect_batch__descriptor, &waymark__v1__visit_event__descriptor,
	&waymark__v1__link_watermark__descriptor,
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint8_t *pack(const ProtobufCMessage *message, size_t *len)
{
	*len = protobuf_c_message_get_packed_size(message);
	uint8_t *packed = mem_zero(*len + 1);
	require(protobuf_c_message_pack(message, packed) == *len);
	return packed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *problem;
	if (size == 0)
		return 0;
	const ProtobufCMessageDescriptor *type = types[data[0] % ARRAY_SIZE(types)];
	ProtobufCMessage *ours = protobuf_unpack(type, data + 1, size - 1, &problem);
	require(ours || problem);
	if (!ours)
		return 0;
	ProtobufCMessage *theirs = protobuf_c_message_unpack(type, NULL, size - 1, data + 1);
	require(theirs);
	protobuf_c_message_free_unpacked(theirs, NULL);

	size_t len, len_again;
	uint8_t *packed = pack(ours, &len);
	theirs = protobuf_c_message_unpack(type, NULL, len, packed);
	require(theirs);
	uint8_t *again = pack(theirs, &len_again);
	require(len == len_again && memcmp(packed, again, len) == 0);
	protobuf_c_message_free_unpacked(theirs, NULL);
	protobuf_free(ours);
	free(packed);
	free(again);
	return 0;
}
