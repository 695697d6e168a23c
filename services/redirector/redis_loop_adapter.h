/*
 * Pure. Runs a redis_pipeline inside each loop that serves visitors. Handlers reach the pipeline of
 * their loop by http_exchange_hook_state.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_REDIS_LOOP_ADAPTER_H
#define WAYMARK_SERVICES_REDIRECTOR_REDIS_LOOP_ADAPTER_H

#include "lib/http/http_server.h"
#include "lib/redis/redis_pipeline.h"

/* config is borrowed for the life of the server. redis_pool_new has validated its url. */
struct http_loop_hook redis_loop_adapter(const struct redis_pipeline_config *config);

#endif
