/*
 * Safe from any thread. Reading protobuf messages that others wrote (protobuf-c). protobuf-c takes strings with NUL or
 * malformed UTF-8, which the wire format forbids and PostgreSQL refuses; here they are refused first.
 */
#ifndef WAYMARK_LIB_NET_PROTOBUF_H
#define WAYMARK_LIB_NET_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>

struct ProtobufCMessageDescriptor;

/*
 * A message of this generated type, to be released with protobuf_free. NULL: the bytes are none; *problem (borrowed
 * from the type, or a literal) names the text field that is at fault, or says "message". len comes bounded by the caller.
 */
void *protobuf_unpack(const struct ProtobufCMessageDescriptor *type, const void *bytes, size_t len,
                      const char **problem);
void protobuf_free(void *message);

/* Copies an unpacked string; false, and nothing is written, when it does not fit. */
bool protobuf_copy_text(const char *text, char *out, size_t size);

#endif
