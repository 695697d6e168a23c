#include "services/analytics-consumer/config.h"

#include <unistd.h>

#include "lib/net/pg_conn.h"

static const struct env_var vars[] = {
	ENV_INT("OPS_PORT", struct config, ops_port, "9090", 0, 65535, "port of /livez, /readyz and /metrics"),
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1,
	           "libpq connection string; needs the rights of waymark_consumer"),
	ENV_INT("PG_POOLED", struct config, pg_pooled, "0", 0, 1,
	        "1 = PG_URL leads to a pooler in transaction mode: nothing is prepared or set for a session"),
	ENV_INT("PG_STATEMENT_TIMEOUT_MS", struct config, pg_statement_timeout_ms, "10000", 100, 600000,
	        "longest statement; a consumer frozen in a transaction holds its locks for twice as long"),
	KAFKA_CONFIG_VARS(struct config, kafka),
	ENV_TEXT("CONSUMER_GROUP", struct config, consumer_group, "waymark-analytics",
	         "Kafka consumer group; consumers of one group share the partitions (purges: NAME-purges)"),
	ENV_INT("SESSION_TIMEOUT_MS", struct config, session_timeout_ms, "45000", 1000, 1800000,
	        "after so much silence a consumer's partitions go to others; below 6000 brokers refuse it by default"),
	ENV_INT("BATCH_EVENTS", struct config, batch_events, "10000", 1, 100000,
	        "most clicks stored in one transaction; each takes about 4 kB of memory in each lane"),
	ENV_INT("BATCH_MS", struct config, batch_ms, "200", 1, 60000, "longest wait for more clicks after the first"),
	ENV_INT("LANES", struct config, lanes, "2", 1, 16,
	        "parts that count side by side, each with partitions, a connection and the memory of a consumer"),
	ENV_TEXT("GEOIP_DB", struct config, geoip_db, "", "country or city database in MaxMind's format; empty = none"),
	ENV_TEXT("UA_REGEXES", struct config, ua_regexes, "/usr/share/uap-core/regexes.yaml",
	         "uap-core's rules for user agents"),
	ENV_INT("USER_AGENT_CACHE", struct config, user_agent_cache, "20000", 1, 10000000,
	        "user agents remembered; each takes about 0.7 kB of memory"),
	ENV_INT("FACTS_CHECK_MS", struct config, facts_check_ms, "10000", 10, 86400000,
	        "GEOIP_DB and UA_REGEXES are looked at so often, and read again when they have changed"),
	ENV_LOG_LEVEL(struct config, log_level),
};

static size_t check(const void *ctx, struct strbuf *problems)
{
	const struct config *config = ctx;
	size_t wrong = 0;
	wrong += env_expect(pg_conn_url_is_valid(config->pg_url), "PG_URL", "libpq cannot read it", problems);
	wrong += env_expect(config->geoip_db[0] == '\0' || access(config->geoip_db, R_OK) == 0, "GEOIP_DB",
	                    "the file cannot be read", problems);
	wrong += env_expect(access(config->ua_regexes, R_OK) == 0, "UA_REGEXES", "the file cannot be read", problems);
	return wrong;
}

const struct program config_program = {
	.name = "analytics-consumer",
	.summary = "counts clicks: reads them from Kafka, finds facts about them, stores them once, tells integrations",
	.vars = vars,
	.var_count = sizeof(vars) / sizeof(vars[0]),
	.check = check,
};
