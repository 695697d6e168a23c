#include <string.h>

#include "lib/base/log.h"
#include "lib/tracing/span_exporter.h"
#include "lib/tracing/tracer.h"
#include "tests/support/test.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
/* Nothing listens on this port. */
#define NOBODY "http://127.0.0.1:1"

static struct tracer *tracer_with(const char *share, struct metrics *metrics)
{
	struct tracer_config config = { .endpoint = NOBODY };
	snprintf(config.sampler_arg, sizeof(config.sampler_arg), "%s", share);
	return tracer_start(&config, "test", NULL, metrics);
}

static size_t begun(struct tracer *tracer, size_t requests)
{
	size_t count = 0;
	for (size_t i = 0; i < requests; i++) {
		char context[TRACE_CONTEXT_SIZE] = "";
		char parent[TRACE_CONTEXT_PARENT_SIZE] = "";
		char parsed[TRACE_CONTEXT_SIZE];
		tracer_begin(tracer, context, parent);
		assert_string_equal(parent, "");
		if (!context[0])
			continue;
		assert_true(trace_context_parse(context, parsed));
		assert_true(trace_context_is_sampled(context));
		count++;
	}
	return count;
}

TEST_CASE(begins_traces_for_the_configured_share_of_requests)
{
	static const struct {
		const char *share;
		size_t least, most;
	} cases[] = { { "0", 0, 0 }, { "0.25", 22000, 28000 }, { "1", 100000, 100000 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct metrics *metrics = metrics_new();
		struct tracer *tracer = tracer_with(cases[i].share, metrics);
		assert_in_range(begun(tracer, 100000), cases[i].least, cases[i].most);
		tracer_stop(tracer);
		metrics_free(metrics);
	}
}

TEST_CASE(joins_a_sampled_trace_with_a_span_of_its_own)
{
	struct metrics *metrics = metrics_new();
	struct tracer *tracer = tracer_with("0", metrics);
	char context[TRACE_CONTEXT_SIZE] = "00-" ID "-" PARENT "-01";
	char parent[TRACE_CONTEXT_PARENT_SIZE] = "";
	char parsed[TRACE_CONTEXT_SIZE];
	tracer_begin(tracer, context, parent);
	assert_string_equal(parent, PARENT);
	assert_true(trace_context_parse(context, parsed));
	assert_memory_equal(context, "00-" ID "-", strlen("00-" ID "-"));
	assert_memory_not_equal(context + strlen("00-" ID "-"), PARENT, strlen(PARENT));
	assert_string_equal(context + strlen("00-" ID "-" PARENT), "-01");
	tracer_stop(tracer);
	metrics_free(metrics);
}

TEST_CASE(leaves_a_trace_that_is_not_sampled_as_it_is)
{
	struct metrics *metrics = metrics_new();
	struct tracer *tracer = tracer_with("1", metrics);
	char context[TRACE_CONTEXT_SIZE] = "00-" ID "-" PARENT "-00";
	char parent[TRACE_CONTEXT_PARENT_SIZE] = "";
	tracer_begin(tracer, context, parent);
	assert_string_equal(context, "00-" ID "-" PARENT "-00");
	assert_string_equal(parent, "");
	tracer_stop(tracer);
	metrics_free(metrics);
}

TEST_CASE(has_no_tracer_without_an_endpoint)
{
	struct metrics *metrics = metrics_new();
	struct tracer_config config = { .sampler_arg = "1" };
	assert_null(tracer_start(&config, "test", NULL, metrics));
	tracer_stop(NULL);
	metrics_free(metrics);
}

TEST_CASE(counts_every_span_that_it_drops)
{
	enum { ADDED = SPAN_EXPORTER_QUEUE_MAX + 1000 };
	struct metrics *metrics = metrics_new();
	struct metric *sent = metrics_counter(metrics, "sent_total", "Sent.", NULL);
	struct metric *dropped = metrics_counter(metrics, "dropped_total", "Dropped.", NULL);
	struct span_exporter *exporter = span_exporter_start(&(struct span_exporter_config){
		.endpoint = NOBODY, .service = "test", .sent = sent, .dropped = dropped });
	const struct span span = { .method = "GET", .route = "/{slug}", .status = 302 };
	for (size_t i = 0; i < ADDED; i++)
		span_exporter_add(exporter, &span);
	span_exporter_stop(exporter);
	assert_int_equal(metrics_value(sent), 0);
	assert_int_equal(metrics_value(dropped), ADDED);
	metrics_free(metrics);
}

TEST_CASE(refuses_a_share_that_is_no_number_from_0_to_1)
{
	static const char *const wrong[] = { "", "1.01", "-0.1", "half", "0.5x", "nan" };
	struct tracer_config config = { .endpoint = NOBODY };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct strbuf problems;
		strbuf_init(&problems, 1024);
		snprintf(config.sampler_arg, sizeof(config.sampler_arg), "%s", wrong[i]);
		assert_int_equal(tracer_config_check(&config, &problems), 1);
		assert_non_null(strstr(problems.data, "OTEL_TRACES_SAMPLER_ARG"));
		strbuf_clear(&problems);
	}
}

TEST_MAIN()
