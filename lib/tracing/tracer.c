#include "lib/tracing/tracer.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/env.h"
#include "lib/base/mem.h"
#include "lib/tracing/span_exporter.h"

/* The last 56 bits of a trace's id are random, and decide whether it is sampled. */
#define RANDOM_BITS 56

struct tracer {
	struct span_exporter *exporter;
	uint64_t seed[3];
	/* Of ids made from each seed. */
	_Atomic uint64_t count;
	uint64_t threshold;
};

static bool read_share(const char *text, double *out)
{
	char *end;
	*out = strtod(text, &end);
	return end != text && *end == '\0' && *out >= 0 && *out <= 1;
}

size_t tracer_config_check(const struct tracer_config *config, struct strbuf *problems)
{
	double share;
	size_t wrong = 0;
	if (config->endpoint[0])
		wrong += env_check_http_url(config->endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT",
		                            problems);
	return wrong + env_expect(read_share(config->sampler_arg, &share),
	                          "OTEL_TRACES_SAMPLER_ARG", "must be a number from 0 to 1",
	                          problems);
}

struct tracer *tracer_start(const struct tracer_config *config, const char *service,
                            const struct log *log, struct metrics *metrics)
{
	struct metric *sent = metrics_counter(metrics, "waymark_spans_sent_total",
	                                      "Spans that the receiver accepted.", NULL);
	struct metric *dropped = metrics_counter(
		metrics, "waymark_spans_dropped_total",
		"Spans that were lost: the queue was full, or the receiver accepted none.", NULL);
	double share;
	if (!config->endpoint[0] || !read_share(config->sampler_arg, &share))
		return NULL;
	struct tracer *tracer = mem_zero(sizeof(*tracer));
	tracer->threshold = (uint64_t)(share * (double)(UINT64_C(1) << RANDOM_BITS));
	entropy_fill(tracer->seed, sizeof(tracer->seed));
	tracer->exporter =
		span_exporter_start(&(struct span_exporter_config){ .endpoint = config->endpoint,
	                                                            .service = service,
	                                                            .sent = sent,
	                                                            .dropped = dropped,
	                                                            .log = log });
	return tracer;
}

void tracer_stop(struct tracer *tracer)
{
	if (!tracer)
		return;
	span_exporter_stop(tracer->exporter);
	free(tracer);
}

/* An id is not 0. */
static uint64_t id_of(const struct tracer *tracer, size_t seed, uint64_t count)
{
	uint64_t id = entropy_mix(tracer->seed[seed] + count);
	return id ? id : 1;
}

void tracer_begin(void *arg, char context[static TRACE_CONTEXT_SIZE],
                  char parent[static TRACE_CONTEXT_PARENT_SIZE])
{
	struct tracer *tracer = arg;
	bool is_joined = context[0] != '\0';
	if (is_joined && !trace_context_is_sampled(context))
		return;
	uint64_t count = atomic_fetch_add_explicit(&tracer->count, 1, memory_order_relaxed);
	if (is_joined) {
		trace_context_parent(context, parent);
		trace_context_set_parent(context, id_of(tracer, 2, count));
		return;
	}
	const uint64_t trace[2] = { id_of(tracer, 0, count), id_of(tracer, 1, count) };
	uint64_t drawn = trace[1] & ((UINT64_C(1) << RANDOM_BITS) - 1);
	if (drawn < tracer->threshold)
		trace_context_begin(context, trace, id_of(tracer, 2, count));
}

void tracer_end(struct tracer *tracer, const struct http_exchange *x, const char *route,
                unsigned status, int64_t duration_us)
{
	const char *context = http_exchange_traceparent(x);
	if (!tracer || !trace_context_is_sampled(context))
		return;
	const char *parent = http_exchange_parent_span(x);
	char trace[TRACE_CONTEXT_ID_SIZE];
	char id[TRACE_CONTEXT_PARENT_SIZE];
	trace_context_id(context, trace);
	trace_context_parent(context, id);
	struct span span = {
		.has_parent = parent[0] != '\0',
		.route = route,
		.status = status,
		.began_us = http_exchange_arrived_us(x),
		.duration_us = duration_us,
	};
	digest_unhex(trace, span.trace_id, sizeof(span.trace_id));
	digest_unhex(id, span.id, sizeof(span.id));
	if (span.has_parent)
		digest_unhex(parent, span.parent_id, sizeof(span.parent_id));
	bool is_known = http_exchange_method(x) != HTTP_OTHER;
	(void)snprintf(span.method, sizeof(span.method), "%s",
	               is_known ? http_exchange_method_name(x) : "_OTHER");
	span_exporter_add(tracer->exporter, &span);
}
