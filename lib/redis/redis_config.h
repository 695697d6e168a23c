/*
 * The rows of Redis settings in a service's table of variables (lib/base/env.h). The members of
 * each struct config have the names used here. redis_url_check checks REDIS_URL.
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_CONFIG_H
#define WAYMARK_LIB_REDIS_REDIS_CONFIG_H

#include "lib/base/env.h"

#define REDIS_CONFIG_VARS(config_, timeout_ms_)                                                    \
	ENV_SECRET("REDIS_URL", config_, redis_url, NULL, 1,                                       \
	           "redis://[user:password@]host:port[/db]"),                                      \
		ENV_INT("REDIS_TIMEOUT_MS", config_, redis_timeout_ms, timeout_ms_, 1, 60000,      \
	                "timeout of one Redis command; its caller then goes on without Redis")

#endif
