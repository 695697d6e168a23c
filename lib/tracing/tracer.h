/*
 * Spans of a service's requests (OpenTelemetry). A request that belongs to a sampled trace gets a
 * span, and so does a share of the others, which begin a trace. Without an endpoint there is no
 * tracer: a service passes NULL to its HTTP server, and nothing is sampled.
 *
 *   struct tracer *tracer = tracer_start(&config->tracing, "redirector", log, metrics);
 *   ...
 *           .begin_span = tracer ? tracer_begin : NULL,
 *           .tracer = tracer,
 *   ...
 *   tracer_end(tracer, x, "/{slug}", status, duration_us);   // in the observer
 *
 * tracer_begin and tracer_end are safe from any thread and never wait.
 */
#ifndef WAYMARK_LIB_TRACING_TRACER_H
#define WAYMARK_LIB_TRACING_TRACER_H

#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/base/strbuf.h"
#include "lib/base/trace_context.h"
#include "lib/http/http_server.h"

struct tracer;

struct tracer_config {
	/* "": no spans. */
	char endpoint[512];
	char sampler_arg[32];
};

/* Rows of a service's table of environment variables. member: its struct tracer_config. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a member's name cannot have parentheses */
#define TRACER_VARS(type, member)                                                                  \
	ENV_TEXT("OTEL_EXPORTER_OTLP_ENDPOINT", type, member.endpoint, "",                         \
	         "URL of an OpenTelemetry receiver (OTLP over HTTP, protobuf), http://host:4318, " \
	         "to which spans of requests are sent; empty = none"),                             \
		ENV_TEXT("OTEL_TRACES_SAMPLER_ARG", type, member.sampler_arg, "0.01",              \
	                 "share of requests that begin a trace, 0 to 1; a request whose "          \
	                 "traceparent is from a trusted proxy follows its sampled flag")
/* NOLINTEND(bugprone-macro-parentheses) */

/* Checks what TRACER_VARS has read, as kafka_config_check does. */
size_t tracer_config_check(const struct tracer_config *config, struct strbuf *problems);

/* Registers the metrics. NULL if the endpoint is empty. */
struct tracer *tracer_start(const struct tracer_config *config, const char *service,
                            const struct log *log, struct metrics *metrics);

/* After the HTTP server has stopped. Takes at most three seconds (span_exporter.h). */
void tracer_stop(struct tracer *tracer);

/* An http_begin_span. tracer is a struct tracer. */
void tracer_begin(void *tracer, char context[static TRACE_CONTEXT_SIZE],
                  char parent[static TRACE_CONTEXT_PARENT_SIZE]);

/* Queues the span of an answered request, if it has one. route lives as long as the program. */
void tracer_end(struct tracer *tracer, const struct http_exchange *x, const char *route,
                unsigned status, int64_t duration_us);

#endif
