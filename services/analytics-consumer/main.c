#include "lib/base/array.h"
#include "lib/base/metrics.h"
#include "lib/base/shutdown.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/clicks/visit_event.h"
#include "lib/http/ops_server.h"
#include "lib/kafka/kafka_lag.h"
#include "lib/links/link_event.h"
#include "services/analytics-consumer/config.h"
#include "services/analytics-consumer/ingest/purge_consumer.h"
#include "services/analytics-consumer/ingest/workers.h"

/* What every part of the service uses. */
struct service {
	struct config config;
	struct log *log;
	struct metrics *metrics;
	struct pg_pool *pool;
};

static struct pg_pool *make_pool(const struct service *s)
{
	const struct pg_pool_config config = { .url = s->config.pg_url,
		                               .application_name = config_program.name,
		                               /* one more for the purges */
		                               .max = (size_t)s->config.workers + 1,
		                               .wait_ms = 1000,
		                               .connect_timeout_ms = 5000,
		                               .statement_timeout_ms =
		                                       s->config.pg_statement_timeout_ms,
		                               .is_pooled = s->config.pg_pooled,
		                               .schema_version = WAYMARK_SCHEMA_VERSION,
		                               .clock = clock_system(),
		                               .log = s->log,
		                               .metrics = s->metrics };
	return pg_pool_new(&config);
}

static enum err start_workers(const struct service *s, struct workers **out)
{
	const struct ingest_config ingest = { .kafka = &s->config.kafka,
		                              .group = s->config.consumer_group,
		                              .topic = REDIRECT_BATCH_TOPIC,
		                              .dead_letter_topic = REDIRECT_BATCH_DEAD_LETTER_TOPIC,
		                              .visits_topic = VISIT_EVENT_TOPIC,
		                              .session_timeout_ms = s->config.session_timeout_ms,
		                              .batch_events = (size_t)s->config.batch_events,
		                              .batch_ms = s->config.batch_ms,
		                              .pool = s->pool,
		                              .clock = clock_system(),
		                              .log = s->log,
		                              .metrics = s->metrics };
	const struct visitor_facts_config facts = { .geoip_db = s->config.geoip_db,
		                                    .ua_regexes = s->config.ua_regexes,
		                                    .user_agent_cache =
		                                            (size_t)s->config.user_agent_cache,
		                                    .check_ms = s->config.facts_check_ms,
		                                    .log = s->log,
		                                    .metrics = s->metrics };
	const struct workers_config config = { .count = (size_t)s->config.workers,
		                               .ingest = ingest,
		                               .facts = facts };
	return workers_start(&config, out);
}

static enum err start_purge_consumer(const struct service *s, struct purge_consumer **out)
{
	const struct purge_consumer_config config = { .kafka = &s->config.kafka,
		                                      .group = s->config.consumer_group,
		                                      .topic = LINK_EVENT_TOPIC,
		                                      .session_timeout_ms =
		                                              s->config.session_timeout_ms,
		                                      .pool = s->pool,
		                                      .clock = clock_system(),
		                                      .log = s->log,
		                                      .metrics = s->metrics };
	return purge_consumer_start(&config, out);
}

/* A record that is no batch is one dead letter. */
static size_t count_clicks(const void *value, size_t len)
{
	struct redirect_batch batch;
	char reason[REDIRECT_EVENT_REASON_SIZE];
	return redirect_batch_open(value, len, &batch, reason) == OK ? batch.count : 1;
}

static enum err start_lag(const struct service *s, struct kafka_lag **out)
{
	const struct kafka_lag_config config = {
		.kafka = &s->config.kafka,
		.group = s->config.consumer_group,
		.topic = REDIRECT_BATCH_TOPIC,
		.count = count_clicks,
		.gauge = metrics_gauge(
			s->metrics, "waymark_consumer_lag",
			"Clicks in waymark.redirects.v1 that no consumer has counted yet, "
			"estimated; every consumer reports the whole topic",
			NULL),
		.log = s->log,
	};
	return kafka_lag_start(&config, out);
}

/* checks is borrowed until ops_server_stop. */
static enum err start_ops_server(const struct service *s, const struct ops_server_check *checks,
                                 size_t count, struct ops_server **out)
{
	const struct ops_server_config config = { .address = s->config.ops_address,
		                                  .port = (uint16_t)s->config.ops_port,
		                                  .checks = checks,
		                                  .check_count = count,
		                                  .metrics = s->metrics,
		                                  .clock = clock_system(),
		                                  .log = s->log };
	return ops_server_start(&config, out);
}

int main(int argc, char **argv)
{
	struct service s = { 0 };
	int status = program_start(&config_program, argc, argv, &s.config);
	if (status != PROGRAM_RUN)
		return status;

	s.log = log_new(config_program.name, s.config.log_level, 2);
	s.metrics = metrics_new();
	metrics_register_process(s.metrics);
	struct shutdown *shutdown = shutdown_new();
	s.pool = make_pool(&s);

	struct workers *workers = NULL;
	struct purge_consumer *purges = NULL;
	struct kafka_lag *lag = NULL;
	struct ops_server *ops = NULL;
	enum err err = start_workers(&s, &workers);
	if (err == OK)
		err = start_purge_consumer(&s, &purges);
	if (err == OK)
		err = start_lag(&s, &lag);
	const struct ops_server_check checks[] = {
		{ .name = "postgres", .ready = pg_pool_is_reachable, .ctx = s.pool },
		{ .name = "schema", .ready = pg_pool_is_schema_supported, .ctx = s.pool },
		{ .name = "kafka", .ready = workers_reach_kafka, .ctx = workers },
		{ .name = "partitions", .ready = workers_have_no_halted_partition, .ctx = workers },
		{ .name = "batch_writer", .ready = workers_can_store, .ctx = workers },
		{ .name = "dead_letters", .ready = workers_can_send_dead_letters, .ctx = workers }
	};
	if (err == OK)
		err = start_ops_server(&s, checks, ARRAY_SIZE(checks), &ops);

	if (err == OK) {
		log_info(s.log, "started", LOG_INT("ops_port", ops_server_port(ops)));
		shutdown_wait(shutdown);
		log_info(s.log, "stopping");
		ops_server_set_draining(ops);
	}

	ops_server_stop(ops);
	kafka_lag_stop(lag);
	purge_consumer_stop(purges);
	workers_stop(workers);
	pg_pool_free(s.pool);
	shutdown_free(shutdown);
	metrics_free(s.metrics);
	log_info(s.log, "stopped");
	log_free(s.log);
	return err == OK ? 0 : 1;
}
