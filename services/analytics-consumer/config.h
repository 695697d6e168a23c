/*
 * One thread at a time (before threads start). The configuration of the analytics-consumer, read
 * from the environment. config_program defines its variables, --help and checks.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_CONFIG_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/program.h"
#include "lib/http/http_server.h"
#include "lib/kafka/kafka_config.h"
#include "lib/postgres/pg_conn.h"

struct config {
	/* "": all. */
	char ops_address[HTTP_SERVER_ADDRESS_SIZE];
	int64_t ops_port;
	char pg_url[PG_CONN_URL_SIZE];
	/* Through a pooler in transaction mode. */
	bool pg_pooled;
	int64_t pg_statement_timeout_ms;
	struct kafka_config kafka;
	char consumer_group[128];
	int64_t session_timeout_ms;
	int64_t batch_events;
	int64_t batch_ms;
	int64_t workers;
	/* "" = no GeoIP look-ups. */
	char geoip_db[512];
	/* "" = those of the build. */
	char ua_regexes[512];
	int64_t user_agent_cache;
	int64_t facts_check_ms;
	enum log_level log_level;
};

extern const struct program config_program;

#endif
