/*
 * The settings of links-api. config_program holds the table of environment variables, the --help
 * text and the checks; it stands in config.c on the top floor, because it uses the checks of other
 * rooms. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_CONFIG_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_CONFIG_H

#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/program.h"
#include "lib/http/http_logo.h"
#include "lib/http/http_server.h"
#include "lib/kafka/kafka_config.h"
#include "lib/links/slug.h"
#include "lib/postgres/pg_conn.h"
#include "lib/redis/redis_url.h"
#include "lib/tracing/tracer.h"

struct config {
	/* "": all. */
	char http_address[HTTP_SERVER_ADDRESS_SIZE];
	int64_t http_port;
	/* "": all. */
	char ops_address[HTTP_SERVER_ADDRESS_SIZE];
	int64_t ops_port;
	int64_t http_loops;
	int64_t http_workers;
	int64_t http_heavy_workers;
	int64_t http_worker_queue;
	int64_t http_worker_wait_ms;
	int64_t http_connections;
	int64_t http_connections_per_ip;
	int64_t http_bodies_max_bytes;
	/* Syntax: see health_probe.h. */
	char health_urls[4096];
	int64_t drain_notice_ms;
	int64_t drain_ms;
	char pg_url[PG_CONN_URL_SIZE];
	int64_t pg_connections;
	/* For a connection that is free, or new. */
	int64_t pg_wait_ms;
	int64_t pg_statement_timeout_ms;
	int64_t pg_heavy_connections;
	int64_t pg_heavy_statement_timeout_ms;
	char redis_url[REDIS_URL_SIZE];
	char redis_ssl_ca_file[256];
	int64_t redis_connections;
	int64_t redis_timeout_ms;
	struct kafka_config kafka;
	int64_t outbox_low_priority_per_second;
	char public_base_url[1025];
	/* "": below public_base_url. */
	char dashboard_url[1025];
	/* "": not named. */
	char operator_name[101];
	/* "": none. */
	char operator_logo_file[HTTP_LOGO_FILE_SIZE];
	/* One or more: see access_token.h. */
	char jwt_secret[4097];
	char trusted_proxies[2048];
	char client_ip_header[HTTP_SERVER_HEADER_NAME_SIZE];
	/* Syntax: see cors_init. */
	char cors_origins[4096];
	/* "open", "invite" or "closed". */
	char registration[32];
	/* See registration.h. */
	char registration_domains[4096];
	bool anonymous_links;
	bool public_stats;
	bool fetch_titles;
	/* "everyone" or "admins". */
	char workspace_creation[16];
	/* "optional" or "required", for logins with a password. */
	char second_factor[16];
	/* Syntax: see oidc_config.h. */
	char oidc_config[1024];
	/* NAME=VALUE; "" = none. */
	char oidc_required_claim[256];
	/* Else those of administrators only. */
	bool password_login;
	int64_t password_threads;
	int64_t password_queue;
	/* Of bcrypt. */
	int64_t password_hash_cost;
	/* Links that a user may create in 24 hours. Limits may be ENV_UNLIMITED. */
	int64_t links_per_day;
	int64_t destination_bytes_max;
	/* Per account. */
	int64_t requests_per_minute;
	/* Per account. */
	int64_t bulk_links_per_minute;
	/* Per account. */
	int64_t idempotency_bytes_per_day;
	/* Per network. */
	int64_t anonymous_links_per_hour;
	int64_t live_streams, live_streams_per_account, live_stream_s;
	/* Per network. */
	int64_t accounts_per_hour;
	/* Per account, network and 15 minutes. */
	int64_t login_failures;
	/* Per 15 minutes. */
	int64_t login_failures_per_account;
	/* Per hour. */
	int64_t login_failures_per_network;
	/* The sender of mails: an address, or a name and <address>; "": there is no mail. */
	char mail_from[512];
	/* Per account. */
	int64_t page_titles_per_minute;
	/* That requests cause: of one person, or network; to one address. */
	int64_t mails_per_day, mails_to_address_per_day;
	struct tracer_config tracing;
	enum log_level log_level;
	/* In addition to the host of PUBLIC_BASE_URL. */
	char own_hosts[4096];
	/* Of apps, in addition to http and https. */
	char destination_schemes[1024];
	/* In addition to those in slug.h. */
	char reserved_slugs[65536];
	char slug_case[SLUG_CASE_SIZE];
	int64_t slug_length_max;
	/* "" = none. */
	char blocked_hosts_file[1024];
	char allowed_hosts_file[1024];
	int64_t hosts_check_ms;
};

extern const struct program config_program;

#endif
