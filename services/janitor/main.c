#include <stdlib.h>
#include <string.h>

#include "lib/base/metrics.h"
#include "lib/http/ops_server.h"
#include "services/janitor/schedule.h"

#define CONNECT_TIMEOUT_MS 5000

int main(int argc, char **argv)
{
	/* configure */
	struct config config = { 0 };
	bool once = argc == 2 && strcmp(argv[1], "--once") == 0;
	int status = program_start(&config_program, once ? 1 : argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;
	status = EXIT_SUCCESS;

	/* create */
	const struct clock *clock = clock_system();
	struct shutdown *shutdown = shutdown_new();
	struct log *log = log_new("janitor", config.log_level, 2);
	struct metrics *metrics = metrics_new();
	metrics_register_process(metrics);
	struct pg_pool *postgres = pg_pool_new(&(struct pg_pool_config){
		.url = config.pg_url,
		.application_name = "waymark-janitor",
		.max = SCHEDULE_TASKS_MAX,
		.wait_ms = CONNECT_TIMEOUT_MS,
		.connect_timeout_ms = CONNECT_TIMEOUT_MS,
		.statement_timeout_ms = config.pg_statement_timeout_ms,
		.is_pooled = config.pg_pooled,
		.schema_version = WAYMARK_SCHEMA_VERSION,
		.clock = clock,
		.log = log,
		.metrics = metrics,
	});
	struct schedule *schedule = schedule_new(
		&(struct schedule_config){ &config, postgres, shutdown, clock, log, metrics });

	/* serve */
	const struct ops_server_check checks[] = {
		{ .name = "postgres", .ready = pg_pool_is_reachable, .ctx = postgres },
		{ .name = "schema", .ready = pg_pool_is_schema_supported, .ctx = postgres },
	};
	const struct ops_server_config ops_config = { .address = config.ops_address,
		                                      .port = (uint16_t)config.ops_port,
		                                      .checks = checks,
		                                      .check_count = 2,
		                                      .metrics = metrics,
		                                      .clock = clock,
		                                      .log = log };
	struct ops_server *ops = NULL;
	if (!once && ops_server_start(&ops_config, &ops) != OK)
		status = EXIT_FAILURE;

	/* run until a shutdown is requested */
	if (once) {
		status = schedule_run_once(schedule) ? EXIT_SUCCESS : EXIT_FAILURE;
	} else if (ops) {
		log_info(log, "started", LOG_TEXT("version", WAYMARK_VERSION),
		         LOG_INT("ops_port", ops_server_port(ops)));
		schedule_run(schedule);
		log_info(log, "stopping");
	}

	/* drain, in reverse order */
	if (ops) {
		ops_server_set_draining(ops);
		ops_server_stop(ops);
	}
	schedule_free(schedule);
	pg_pool_free(postgres);
	metrics_free(metrics);
	log_info(log, "stopped");
	log_free(log);
	shutdown_free(shutdown);
	return status;
}
