/*
 * Sends spans to an OpenTelemetry receiver: OTLP, protobuf over HTTP.
 *
 * Adding a span copies it into a queue of 8,192. A thread takes the whole queue once a second and
 * sends it. When the receiver is slow or away the queue fills, and further spans are dropped and
 * counted. A batch that the receiver does not accept is dropped too: spans are worth little later.
 *
 * span_exporter_add is safe from any thread.
 */
#ifndef WAYMARK_LIB_TRACING_SPAN_EXPORTER_H
#define WAYMARK_LIB_TRACING_SPAN_EXPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/metrics.h"

#define SPAN_EXPORTER_QUEUE_MAX 8192

#define SPAN_TRACE_ID_BYTES 16
#define SPAN_ID_BYTES 8
#define SPAN_METHOD_SIZE 8

/* The span of one answered request, without anything about the visitor. */
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

struct span_exporter;

struct span_exporter_config {
	/* "http://collector:4318"; "/v1/traces" is added. */
	const char *endpoint;
	/* service.name. */
	const char *service;
	struct metric *sent;
	struct metric *dropped;
	const struct log *log;
};

/* Copies the texts. */
struct span_exporter *span_exporter_start(const struct span_exporter_config *config);

/*
 * Sends what is in the queue, unless the receiver is away. Requests end within two seconds, or
 * three if one was running. NULL is allowed.
 */
void span_exporter_stop(struct span_exporter *exporter);

void span_exporter_add(struct span_exporter *exporter, const struct span *span);

#endif
