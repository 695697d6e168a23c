#include "services/janitor/config.h"

#include "lib/net/pg_conn.h"
#include "services/janitor/global_lookup.h"

#define YEAR_S 31536000

#define SECONDS(name, member, fallback, least, help) ENV_INT(name, struct config, member, fallback, least, YEAR_S, help)

static const struct env_var vars[] = {
	ENV_INT("OPS_PORT", struct config, ops_port, "9090", 0, 65535, "port of /livez, /readyz and /metrics"),
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1,
	           "libpq connection string; needs the rights of waymark_janitor"),
	ENV_INT("PG_STATEMENT_TIMEOUT_MS", struct config, pg_statement_timeout_ms, "30000", 100, 600000,
	        "how long one statement may take"),
	SECONDS("EXPIRY_PERIOD_S", expiry_period_s, "900", 1, "seconds from one run that marks and purges to the next"),
	SECONDS("EXPIRY_FIRST_DELAY_S", expiry_first_delay_s, "60", 0, "seconds from the start to the first of them"),
	SECONDS("EXPIRED_GRACE_S", expired_grace_s, "900", 0,
	        "how long a link stays after it was marked as expired; more than the longest request"),
	SECONDS("DELETED_GRACE_S", deleted_grace_s, "0", 0, "how long a deleted link can be restored"),
	SECONDS("PARTITIONS_PERIOD_S", partitions_period_s, "3600", 1, "seconds between looks for missing partitions"),
	SECONDS("PARTITIONS_FIRST_DELAY_S", partitions_first_delay_s, "0", 0, "seconds from the start to the first"),
	SECONDS("SALTS_PERIOD_S", salts_period_s, "3600", 1, "seconds between looks for missing and old salts"),
	SECONDS("SALTS_FIRST_DELAY_S", salts_first_delay_s, "0", 0, "seconds from the start to the first"),
	SECONDS("SALTS_KEEP_S", salts_keep_s, "86400", 0,
	        "how long a salt stays after its UTC day; more than the redirectors' clocks differ"),
	SECONDS("VISITORS_KEEP_S", visitors_keep_s, "172800", 0,
	        "how long a day's visitors are known after it, so that late clicks are not unique twice"),
	ENV_BOOL("DESTINATION_CHECKS", struct config, destination_checks, "false",
	         "true: asks where links lead whether anybody is there"),
	SECONDS("DESTINATIONS_PERIOD_S", destinations_period_s, "10", 1,
	        "seconds from one run of such checks to the next; each works for at most 30 s"),
	SECONDS("DESTINATIONS_FIRST_DELAY_S", destinations_first_delay_s, "10", 0,
	        "seconds from the start to the first"),
	ENV_INT("DESTINATION_REQUESTS_PER_S", struct config, destinations_per_s, "5", 1, 1000,
	        "requests in a second, to all hosts together"),
	SECONDS("DESTINATION_RECHECK_S", destination_recheck_s, "86400", 1, "seconds between checks of one link"),
	SECONDS("DESTINATION_RETRY_S", destination_retry_s, "900", 1,
	        "seconds after a destination was found dead; doubled each time, at most 30 days"),
	ENV_TEXT("DESTINATION_RESOLVERS", struct config, destination_resolvers, "",
	         "DNS servers for the checks (1.1.1.1,[2606:4700::1111]:53); empty: those of /etc/resolv.conf"),
	SECONDS("LOCK_AT_LEAST_S", lock_at_least_s, "600", 0,
	        "how long no other janitor repeats a task; at most two thirds of its period, 10 s for the quick ones"),
	SECONDS("LOCK_AT_MOST_S", lock_at_most_s, "840", 1,
	        "after so long another janitor takes over from one that died; 60 s for the quick tasks"),
	ENV_LOG_LEVEL(struct config, log_level),
};

static size_t check(const void *ctx, struct strbuf *problems)
{
	const struct config *config = ctx;
	size_t wrong = 0;
	wrong += env_expect(pg_conn_url_is_valid(config->pg_url), "PG_URL", "libpq cannot read it", problems);
	wrong += env_expect(config->lock_at_least_s <= config->lock_at_most_s, "LOCK_AT_LEAST_S",
	                    "is more than LOCK_AT_MOST_S", problems);
	wrong += env_expect(config->visitors_keep_s >= config->salts_keep_s, "VISITORS_KEEP_S",
	                    "is less than SALTS_KEEP_S", problems);
	wrong += env_expect(global_lookup_servers_are_valid(config->destination_resolvers), "DESTINATION_RESOLVERS",
	                    "is no list of DNS servers", problems);
	return wrong;
}

const struct program config_program = {
	.name = "janitor",
	.summary =
		"marks and purges expired links, prepares partitions and salts; with --once it does each once and ends",
	.options = "--once",
	.vars = vars,
	.var_count = sizeof(vars) / sizeof(vars[0]),
	.check = check,
};
