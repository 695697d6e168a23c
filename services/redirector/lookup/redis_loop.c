#include "services/redirector/lookup/redis_loop.h"

/* Without a pipeline, workers query Redis: slower, but the result is the same. */
static void *start_pipeline(void *ctx)
{
	const struct redis_pipeline_config *config = ctx;
	struct redis_pipeline *pipeline = NULL;
	if (redis_pipeline_new(config, &pipeline) != OK)
		log_error(config->log, "redis_url_rejected");
	return pipeline;
}

static int pipeline_descriptor(void *state, short *events)
{
	return state ? redis_pipeline_descriptor(state, events) : -1;
}

static int64_t pipeline_deadline_us(void *state)
{
	return state ? redis_pipeline_deadline_us(state) : INT64_MAX;
}

static void receive_replies(void *state, bool is_readable)
{
	if (state)
		redis_pipeline_receive(state, is_readable);
}

static void send_queries(void *state)
{
	if (state)
		redis_pipeline_send(state);
}

static void stop_pipeline(void *state)
{
	redis_pipeline_free(state);
}

struct http_loop_hook redis_loop_hook(const struct redis_pipeline_config *config)
{
	return (struct http_loop_hook){ .start = start_pipeline,
		                        .descriptor = pipeline_descriptor,
		                        .deadline_us = pipeline_deadline_us,
		                        .before_requests = receive_replies,
		                        .after_requests = send_queries,
		                        .stop = stop_pipeline,
		                        .ctx = (void *)(uintptr_t)config };
}
