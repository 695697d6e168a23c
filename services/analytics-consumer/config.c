#include "services/analytics-consumer/config.h"

#include <unistd.h>

#include "lib/base/array.h"
#include "lib/postgres/pg_conn.h"

static const struct env_var vars[] = {
	ENV_GROUP("HTTP"),
	ENV_TEXT("OPS_ADDRESS", struct config, ops_address, "",
	         "address that OPS_PORT listens on; empty = all, IPv4 and IPv6"),
	ENV_INT("OPS_PORT", struct config, ops_port, "9090", 0, 65535,
	        "port of /livez, /readyz and /metrics"),
	ENV_GROUP("PostgreSQL"),
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1,
	           "libpq connection string of a user with the rights of waymark_consumer"),
	ENV_INT("PG_POOLED", struct config, pg_pooled, "0", 0, 1,
	        "1 = PG_URL leads to a pooler in transaction mode: no prepared statements, no session settings"),
	ENV_INT("PG_STATEMENT_TIMEOUT_MS", struct config, pg_statement_timeout_ms, "10000", 100,
	        600000,
	        "statement timeout; a consumer frozen in a transaction holds its locks for twice as long"),
	ENV_GROUP("Kafka"),
	KAFKA_CONFIG_VARS(struct config, kafka),
	ENV_TEXT(
		"CONSUMER_GROUP", struct config, consumer_group, "waymark-analytics",
		"Kafka consumer group; consumers of one group share the partitions (for purges: NAME-purges)"),
	ENV_INT("SESSION_TIMEOUT_MS", struct config, session_timeout_ms, "45000", 1000, 1800000,
	        "silence after which a consumer loses its partitions; by default brokers reject less than 6000"),
	ENV_GROUP("Counting"),
	ENV_INT("WORKERS", struct config, workers, "2", 1, 16,
	        "workers that count in parallel, each with its own partitions, connection, batches and caches"),
	ENV_INT("BATCH_EVENTS", struct config, batch_events, "10000", 1, 100000,
	        "maximum clicks stored in one transaction; each takes about 4 kB of memory in every worker"),
	ENV_INT("BATCH_MS", struct config, batch_ms, "200", 1, 60000,
	        "maximum time to gather a batch after its first click"),
	ENV_GROUP("Facts about clicks"),
	ENV_TEXT("GEOIP_DB", struct config, geoip_db, "",
	         "country or city database in MaxMind's format; empty = no places"),
	ENV_TEXT("UA_REGEXES", struct config, ua_regexes, "/usr/share/uap-core/regexes.yaml",
	         "uap-core's regexes.yaml with the rules for user agents"),
	ENV_INT("USER_AGENT_CACHE", struct config, user_agent_cache, "20000", 1, 10000000,
	        "capacity of the cache of user agents; each entry takes about 0.7 kB of memory"),
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
	wrong += env_expect(pg_conn_url_is_valid(config->pg_url), "PG_URL",
	                    "is not a valid libpq connection string", problems);
	wrong += env_expect(config->geoip_db[0] == '\0' || access(config->geoip_db, R_OK) == 0,
	                    "GEOIP_DB", "the file cannot be read", problems);
	wrong += env_expect(access(config->ua_regexes, R_OK) == 0, "UA_REGEXES",
	                    "the file cannot be read", problems);
	return wrong;
}

const struct program config_program = {
	.name = "analytics-consumer",
	.summary =
		"counts clicks: reads them from Kafka, enriches them, stores each once and publishes the visits",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.check = check,
};
