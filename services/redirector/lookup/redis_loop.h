/*
 * Runs a pipeline to Redis in each loop that serves visitors: its state is the struct redis_pipeline
 * of that loop (http_exchange_hook_state), or NULL if REDIS_URL is rejected.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LOOKUP_REDIS_LOOP_H
#define WAYMARK_SERVICES_REDIRECTOR_LOOKUP_REDIS_LOOP_H

#include "lib/http/http_server.h"
#include "lib/redis/redis_pipeline.h"

/* config is borrowed until the HTTP server has stopped. */
struct http_loop_hook redis_loop_hook(const struct redis_pipeline_config *config);

#endif
