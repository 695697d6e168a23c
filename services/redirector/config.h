/*
 * One thread at a time, before other threads start. The redirector's configuration, read from
 * environment variables. The table in config.c is also its --help. Defaults are filled in; ranges
 * and formats are checked.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CONFIG_H
#define WAYMARK_SERVICES_REDIRECTOR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/log.h"
#include "lib/base/program.h"
#include "lib/clicks/redirect_event.h"
#include "lib/http/http_logo.h"
#include "lib/http/http_server.h"
#include "lib/kafka/kafka_config.h"
#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"
#include "lib/redis/redis_url.h"
#include "lib/tracing/tracer.h"

#define CONFIG_NO_TOPIC "none"

struct config {
	/* "": all. */
	char http_address[HTTP_SERVER_ADDRESS_SIZE];
	int64_t http_port;
	/* "": all. */
	char ops_address[HTTP_SERVER_ADDRESS_SIZE];
	int64_t ops_port;
	char pg_url[PG_CONN_URL_SIZE];
	/* Through a pooler in transaction mode. */
	bool pg_pooled;
	int64_t pg_wait_ms;
	int64_t pg_statement_timeout_ms;
	char redis_url[REDIS_URL_SIZE];
	char redis_ssl_ca_file[256];
	int64_t redis_timeout_ms;
	struct kafka_config kafka;

	char public_base_url[LINK_URL_SIZE];
	/* "": a page at "/". */
	char root_url[LINK_URL_SIZE];
	/* "": not linked from that page. */
	char dashboard_url[LINK_URL_SIZE];
	/* On pages; "": not named. */
	char operator_name[101];
	/* "": none. */
	char operator_logo_file[HTTP_LOGO_FILE_SIZE];
	/* A mail address or a URL; "": none. */
	char operator_contact[256];
	/* "": the built-in texts. */
	char pages_file[1024];
	char redirect_cache_control[128];
	char trusted_proxies[2048];
	char client_ip_header[HTTP_SERVER_HEADER_NAME_SIZE];
	char region[REDIRECT_EVENT_REGION_MAX + 1];
	/* "": none. */
	char blocked_hosts_file[1024];
	char allowed_hosts_file[1024];
	int64_t hosts_check_ms;
	/* "": none. */
	char geoip_db[512];
	/* "": those of the build. */
	char ua_regexes[512];
	int64_t user_agent_cache;
	char slug_case[SLUG_CASE_SIZE];
	/* May be ENV_UNLIMITED, as connections of one address. */
	int64_t unknown_slugs_per_minute;

	int64_t http_loops;
	int64_t http_connections;
	int64_t http_connections_per_ip;
	int64_t workers;
	int64_t memory_cache_bytes;
	int64_t memory_ttl_ms;
	/* Or CONFIG_NO_TOPIC: no feed. */
	char link_feed_topic[250];
	char link_watermark_topic[250];
	/* No variable; 0: WATERMARK_TRACKER_FRESH_US. */
	int64_t feed_fresh_us;
	int64_t slug_bloom_filter_slugs;
	/* To PostgreSQL, for slugs missing from the Bloom filter. */
	int64_t unknown_queries_per_second;

	char journal_dir[200];
	int64_t journal_max_bytes;
	/* 0: the kernel decides. */
	int64_t journal_fsync_ms;
	int64_t drain_notice_ms;
	int64_t drain_ms;
	struct tracer_config tracing;
	enum log_level log_level;
};

extern const struct program config_program;

/* Cannot fail for a config that program_start has filled. */
struct client_ip_ranges config_trusted_proxies(const struct config *config);

#endif
