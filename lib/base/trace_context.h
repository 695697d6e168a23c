/*
 * W3C Trace Context, level 1: the trace that a request belongs to, "00-<trace id>-<parent
 * id>-<flags>". The services pass on the context that they receive, so that the spans before and
 * after them belong together. A service that exports spans (lib/tracing) puts its own span in the
 * place of the parent. Pure.
 */
#ifndef WAYMARK_LIB_BASE_TRACE_CONTEXT_H
#define WAYMARK_LIB_BASE_TRACE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_CONTEXT_HEADER "traceparent" /* in HTTP and in Kafka records */
#define TRACE_CONTEXT_SIZE 56              /* with the NUL */
#define TRACE_CONTEXT_ID_SIZE 33
#define TRACE_CONTEXT_PARENT_SIZE 17

/*
 * header is the value of the header, or NULL if it was not sent. A later version is reduced to the
 * part that version 00 defines. Returns false and sets out to "" if the value is malformed, which
 * includes upper-case digits and ids of zeros only.
 */
bool trace_context_parse(const char *header, char out[static TRACE_CONTEXT_SIZE]);

/* These take the output of trace_context_parse. "" means no trace. */
bool trace_context_is_sampled(const char *context);
/* 32 hexadecimal digits for logs, or "". */
void trace_context_id(const char *context, char out[static TRACE_CONTEXT_ID_SIZE]);
/* The span that the context names: 16 hexadecimal digits, or "". */
void trace_context_parent(const char *context, char out[static TRACE_CONTEXT_PARENT_SIZE]);

/* Names another span in a context that is not "". span is not 0. */
void trace_context_set_parent(char context[static TRACE_CONTEXT_SIZE], uint64_t span);
/* Begins a sampled trace. Neither id nor span is 0. */
void trace_context_begin(char context[static TRACE_CONTEXT_SIZE], const uint64_t id[static 2],
                         uint64_t span);

#endif
