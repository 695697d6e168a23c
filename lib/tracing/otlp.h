/* The messages of the OpenTelemetry protocol (otlp.proto). Pure. */
#ifndef WAYMARK_LIB_TRACING_OTLP_H
#define WAYMARK_LIB_TRACING_OTLP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/tracing/span.h"

struct otlp_resource {
	/* service.name. */
	const char *service;
	/* service.instance.id. */
	const char *instance;
};

/* An ExportTraceServiceRequest with these spans. Release it with free(). */
uint8_t *otlp_encode(const struct otlp_resource *resource, struct span *spans, size_t count,
                     size_t *len);

/*
 * How many spans an ExportTraceServiceResponse rejects. 0 for one that is empty or cannot be read:
 * its status says that the spans were accepted.
 */
int64_t otlp_rejected(const void *response, size_t len);

#endif
