/*
 * Pure. Redis in the loops that answer visitors: each loop has a redis_pipeline of its own as its guest
 * (http_server.h), which handlers find by http_exchange_guest.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_REDIS_GUEST_H
#define WAYMARK_SERVICES_REDIRECTOR_REDIS_GUEST_H

#include "lib/net/http_server.h"
#include "lib/net/redis_pipeline.h"

/* config is borrowed for the life of the server; its url has been checked (redis_pool_new takes the same). */
struct http_guest redis_guest(const struct redis_pipeline_config *config);

#endif
