#include "services/analytics-consumer/config.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/http/http_server.h"
#include "lib/postgres/pg_conn.h"
#include "services/analytics-consumer/facts/geoip.h"
#include "services/analytics-consumer/facts/user_agent_rules.h"

#define PROBLEM_BYTES_MAX 4096

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
	        "maximum clicks stored in one transaction; each takes about 4 kB of memory in every worker"),
	ENV_INT("BATCH_MS", struct config, batch_ms, "200", 1, 60000,
	        "maximum time to gather a batch after its first click"),
	ENV_GROUP("Facts about clicks"),
	ENV_TEXT("GEOIP_DB", struct config, geoip_db, "",
	         "country or city database in MaxMind's format; empty = no places"),
	ENV_TEXT(
		"UA_REGEXES", struct config, ua_regexes, "",
		"a newer regexes.yaml of uap-core with rules for user agents; empty = those of the build"),
	/* Each takes about 0.7 kB of memory. */
	ENV_CONSTANT_INT(struct config, user_agent_cache, "20000"),
	ENV_INT("FACTS_CHECK_MS", struct config, facts_check_ms, "10000", 10, 86400000,
	        "interval at which GEOIP_DB and UA_REGEXES are checked for changes and reloaded"),
	ENV_GROUP("Logging"),
	ENV_LOG_LEVEL(struct config, log_level),
};

static size_t check_geoip(const char *path, struct strbuf *problems)
{
	size_t wrong = env_check_file(path, "GEOIP_DB", problems);
	struct geoip *geoip = NULL;
	if (wrong == 0 && geoip_open(path, NULL, &geoip) != OK)
		wrong += env_check_reject("GEOIP_DB", path, strlen(path),
		                          "is no country or city database in MaxMind's format",
		                          problems);
	geoip_close(geoip);
	return wrong;
}

static size_t check_user_agents(const char *path, struct strbuf *problems)
{
	size_t wrong = env_check_file(path, "UA_REGEXES", problems);
	struct user_agent_rules *rules = NULL;
	struct strbuf why;
	strbuf_init(&why, PROBLEM_BYTES_MAX);
	if (wrong == 0 && user_agent_rules_load(path, &rules, &why) != OK)
		wrong += env_expect(false, "UA_REGEXES", why.data, problems);
	user_agent_rules_free(rules);
	strbuf_clear(&why);
	return wrong;
}

static size_t check(const void *ctx, struct strbuf *problems)
{
	const struct config *config = ctx;
	size_t wrong = 0;
	wrong += env_expect(http_server_is_address(config->ops_address), "OPS_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += pg_conn_url_check(config->pg_url, problems);
	wrong += kafka_config_check(&config->kafka, problems);
	wrong += kafka_config_check_name(config->consumer_group, "CONSUMER_GROUP", problems);
	wrong += check_geoip(config->geoip_db, problems);
	wrong += check_user_agents(config->ua_regexes, problems);
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
