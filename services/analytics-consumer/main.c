#include "lib/base/process_metrics.h"
#include "lib/base/shutdown.h"
#include "lib/clicks/redirect_event.h"
#include "lib/clicks/visit_event.h"
#include "lib/links/link_event.h"
#include "lib/net/ops_server.h"
#include "services/analytics-consumer/config.h"
#include "services/analytics-consumer/ingest/purge_consumer.h"
#include "services/analytics-consumer/ingest/workers.h"

static enum err start_purge_consumer(const struct config *config, struct pg_pool *pool, const struct log *log,
                                     struct metrics *metrics, struct purge_consumer **out)
{
	const struct purge_consumer_config consumer = { .kafka = &config->kafka,
		                                        .group = config->consumer_group,
		                                        .topic = LINK_EVENT_TOPIC,
		                                        .session_timeout_ms = config->session_timeout_ms,
		                                        .pool = pool,
		                                        .clock = clock_system(),
		                                        .log = log,
		                                        .metrics = metrics };
	return purge_consumer_start(&consumer, out);
}

int main(int argc, char **argv)
{
	struct config config = { 0 };
	int status = program_start(&config_program, argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;

	struct log *log = log_new(config_program.name, config.log_level, 2);
	struct metrics *metrics = metrics_new();
	process_metrics_register(metrics);
	struct shutdown *shutdown = shutdown_new();
	const struct pg_pool_config pg = { .url = config.pg_url,
		                           .application_name = config_program.name,
		                           .max = (size_t)config.lanes + 1, /* one more for the purges */
		                           .wait_ms = 1000,
		                           .connect_timeout_ms = 5000,
		                           .statement_timeout_ms = config.pg_statement_timeout_ms,
		                           .is_pooled = config.pg_pooled == 1,
		                           .schema_version = WAYMARK_SCHEMA_VERSION,
		                           .clock = clock_system(),
		                           .log = log,
		                           .metrics = metrics };
	struct pg_pool *pool = pg_pool_new(&pg);
	const struct fact_sources_config facts = { .geoip_db = config.geoip_db,
		                                   .ua_regexes = config.ua_regexes,
		                                   .user_agent_cache = (size_t)config.user_agent_cache,
		                                   .check_ms = config.facts_check_ms,
		                                   .log = log,
		                                   .metrics = metrics };
	struct workers *workers = NULL;
	struct purge_consumer *purges = NULL;
	struct ops_server *ops = NULL;
	const struct ingest_config ingest = { .kafka = &config.kafka,
		                              .group = config.consumer_group,
		                              .topic = REDIRECT_EVENT_TOPIC,
		                              .dead_letter_topic = REDIRECT_EVENT_DEAD_LETTER_TOPIC,
		                              .visits_topic = VISIT_EVENT_TOPIC,
		                              .session_timeout_ms = config.session_timeout_ms,
		                              .batch_events = (size_t)config.batch_events,
		                              .batch_ms = config.batch_ms,
		                              .pool = pool,
		                              .clock = clock_system(),
		                              .log = log,
		                              .metrics = metrics };

	const struct workers_config parallel = { .count = (size_t)config.lanes, .ingest = ingest, .facts = facts };
	enum err err = workers_start(&parallel, &workers);
	if (err == OK)
		err = start_purge_consumer(&config, pool, log, metrics, &purges);
	const struct ops_server_check checks[] = { { "postgres", pg_pool_is_reachable, pool },
		                                   { "schema", pg_pool_schema_will_do, pool },
		                                   { "kafka", workers_reach_kafka, workers },
		                                   { "partitions", workers_have_no_halted_partition, workers },
		                                   { "batch_writer", workers_can_store, workers },
		                                   { "dead_letters", workers_can_send_dead_letters, workers } };
	const struct ops_server_config ops_config = { .port = (uint16_t)config.ops_port,
		                                      .checks = checks,
		                                      .check_count = sizeof(checks) / sizeof(checks[0]),
		                                      .metrics = metrics,
		                                      .clock = clock_system(),
		                                      .log = log };
	if (err == OK)
		err = ops_server_start(&ops_config, &ops);

	if (err == OK) {
		log_info(log, "started", LOG_INT("ops_port", ops_server_port(ops)));
		shutdown_wait(shutdown);
		ops_server_set_draining(ops);
	}

	ops_server_stop(ops);
	purge_consumer_stop(purges);
	workers_stop(workers);
	pg_pool_free(pool);
	shutdown_free(shutdown);
	metrics_free(metrics);
	log_free(log);
	return err == OK ? 0 : 1;
}
