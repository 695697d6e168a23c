/* The span of one answered request, without anything about the visitor. */
#ifndef WAYMARK_LIB_TRACING_SPAN_H
#define WAYMARK_LIB_TRACING_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#define SPAN_TRACE_ID_BYTES 16
#define SPAN_ID_BYTES 8
#define SPAN_METHOD_SIZE 8

struct span {
	uint8_t trace_id[SPAN_TRACE_ID_BYTES];
	uint8_t id[SPAN_ID_BYTES];
	uint8_t parent_id[SPAN_ID_BYTES];
	bool has_parent;
	/* "_OTHER" for one that HTTP does not define. */
	char method[SPAN_METHOD_SIZE];
	/* "/api/links/{id}"; lives as long as the program. "": no route. */
	const char *route;
	unsigned status;
	/* Wall time. */
	int64_t began_us;
	int64_t duration_us;
};

#endif
