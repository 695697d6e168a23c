#include "services/analytics-consumer/config.h"

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/http/http_server.h"
#include "lib/postgres/pg_conn.h"
#include "lib/visitors/visitor_facts.h"

static const struct env_var vars[] = {
	ENV_GROUP("HTTP"),
	HTTP_SERVER_OPS_VARS(struct config, "9090"),
	ENV_GROUP("PostgreSQL"),
	/* A consumer that is frozen in a transaction holds its locks for twice as long. */
	PG_CONN_VARS(struct config, "10000", "a login with the rights of waymark_consumer"),
	PG_CONN_POOLED_VAR(struct config),
	ENV_GROUP("Kafka"),
	KAFKA_CONFIG_VARS(struct config, kafka),
	ENV_TEXT(
		"CONSUMER_GROUP", struct config, consumer_group, "waymark-analytics",
		"Kafka consumer group; consumers of one group share the partitions (for purges: NAME-purges)"),
	ENV_INT("SESSION_TIMEOUT_MS", struct config, session_timeout_ms, "10000", 1000, 1800000,
	        "silence after which a consumer loses its partitions; by default brokers reject less than 6000"),
	ENV_GROUP("Counting"),
	ENV_INT("WORKERS", struct config, workers, "2", 1, 16,
	        "workers that count in parallel, each with its own partitions, connection, batches and caches"),
	ENV_INT("BATCH_EVENTS", struct config, batch_events, "10000", 1, 100000,
	        "maximum clicks stored in one transaction; each takes about 5 kB of memory in every worker"),
	ENV_INT("BATCH_MS", struct config, batch_ms, "200", 1, 60000,
	        "maximum time to gather a batch after its first click"),
	ENV_GROUP("Facts about clicks"),
	VISITOR_FACTS_VARS(struct config),
	/* Each takes about 0.7 kB of memory. */
	ENV_CONSTANT_INT(struct config, user_agent_cache, "20000"),
	ENV_INT("FACTS_CHECK_MS", struct config, facts_check_ms, "10000", 10, 86400000,
	        "interval at which GEOIP_DB and UA_REGEXES are checked for changes and reloaded"),
	ENV_GROUP("Logging"),
	ENV_LOG_LEVEL(struct config, log_level),
};

static size_t check(const void *ctx, struct strbuf *problems)
{
	const struct config *config = ctx;
	size_t wrong = 0;
	wrong += env_expect(http_server_is_address(config->ops_address), "OPS_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += pg_conn_url_check(config->pg_url, problems);
	wrong += kafka_config_check(&config->kafka, problems);
	wrong += kafka_config_check_name(config->consumer_group, "CONSUMER_GROUP", problems);
	wrong += visitor_facts_check(config->geoip_db, config->ua_regexes, problems);
	return wrong;
}

const struct program config_program = {
	.name = "analytics-consumer",
	.summary =
		"counts clicks: reads them from Kafka, enriches them, stores each once and publishes the visits",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};
