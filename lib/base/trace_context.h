/*
 * Pure. The W3C's trace context, level 1: which trace a request belongs to, "00-<trace id>-<parent id>-<flags>". We
 * pass on what we are given, so that the spans of those before and behind us belong together, and make none.
 */
#ifndef WAYMARK_LIB_BASE_TRACE_CONTEXT_H
#define WAYMARK_LIB_BASE_TRACE_CONTEXT_H

#include <stdbool.h>

#define TRACE_CONTEXT_HEADER "traceparent" /* of HTTP and of Kafka records */
#define TRACE_CONTEXT_SIZE 56              /* with its NUL */
#define TRACE_CONTEXT_ID_SIZE 33

/*
 * given: the value of the header; NULL = it was not sent. Of versions to come the part that we know is taken, as version
 * 00. False: it is malformed (upper-case digits and ids of zeroes included), and out is "".
 */
bool trace_context_read(const char *given, char out[static TRACE_CONTEXT_SIZE]);

/* These take what trace_context_read has written; "" is in no trace. */
bool trace_context_is_sampled(const char *context);
/* 32 hexadecimal digits for logs, or "". */
void trace_context_id(const char *context, char out[static TRACE_CONTEXT_ID_SIZE]);

#endif
