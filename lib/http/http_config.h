/*
 * The rows of HTTP settings in a service's table of variables (lib/base/env.h). The members of each
 * struct config have the names used here.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_CONFIG_H
#define WAYMARK_LIB_HTTP_HTTP_CONFIG_H

#include "lib/base/env.h"

#define HTTP_CONFIG_OPS_VARS(config_, port_)                                                       \
	ENV_TEXT("OPS_ADDRESS", config_, ops_address, "",                                          \
	         "address that OPS_PORT listens on; empty = all, IPv4 and IPv6"),                  \
		ENV_INT("OPS_PORT", config_, ops_port, port_, 0, 65535,                            \
	                "port of /livez, /readyz and /metrics; 0 = any free port")

#define HTTP_CONFIG_VARS(config_, port_, loops_, connections_, per_ip_)                            \
	ENV_TEXT("HTTP_ADDRESS", config_, http_address, "",                                        \
	         "address that HTTP_PORT listens on; empty = all, IPv4 and IPv6"),                 \
		ENV_INT("HTTP_PORT", config_, http_port, port_, 0, 65535,                          \
	                "port of visitors or clients; 0 = any free port"),                         \
		ENV_INT("HTTP_LOOPS", config_, http_loops, loops_, 1, 64,                          \
	                "I/O threads, each with its own event loop; at most one per free core"),   \
		ENV_INT("HTTP_CONNECTIONS", config_, http_connections, connections_, 1, 1000000,   \
	                "largest number of open connections; beyond it, an idle or slow one is "   \
	                "closed for a new one"),                                                   \
		ENV_INT("HTTP_CONNECTIONS_PER_IP", config_, http_connections_per_ip, per_ip_, 0,   \
	                1000000,                                                                   \
	                "largest number of open connections of one address (IPv6: /64), trusted "  \
	                "proxies excepted; 0 = no limit"),                                         \
		ENV_TEXT("TRUSTED_PROXIES", config_, trusted_proxies, "",                          \
	                 "networks of proxies whose X-Forwarded-For is trusted: 10.0.0.0/8, "      \
	                 "fd00::/8; empty = none"),                                                \
		ENV_INT("DRAIN_NOTICE_MS", config_, drain_notice_ms, "0", 0, 600000,               \
	                "how long requests are still accepted after SIGTERM while /readyz fails "  \
	                "and each response closes its connection; longer than the health-check "   \
	                "interval of the load balancer")

#endif
