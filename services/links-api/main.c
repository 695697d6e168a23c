#include <stdlib.h>

#include "lib/base/metrics.h"
#include "lib/base/shutdown.h"
#include "services/links-api/commands/commands.h"
#include "services/links-api/links_api.h"

int main(int argc, char **argv)
{
	/* configure */
	struct config config;
	int status = commands_run(argc, argv);
	if (status != COMMANDS_NONE)
		return status;
	status = program_start(&config_program, argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;

	/* create */
	struct shutdown *shutdown = shutdown_new();
	struct log *log = log_new("links-api", config.log_level, 2);
	struct metrics *metrics = metrics_new();
	metrics_register_process(metrics);
	struct links_api *service = NULL;
	enum err err = links_api_new(&config, log, metrics, &service);
	status = err == OK ? EXIT_SUCCESS : PROGRAM_EXIT_USAGE;

	/* serve */
	if (err == OK) {
		err = links_api_serve(service);
		status = err == OK ? EXIT_SUCCESS : EXIT_FAILURE;
	}

	/* wait */
	if (err == OK) {
		log_info(log, "started", LOG_TEXT("version", WAYMARK_VERSION),
		         LOG_INT("http_port", links_api_http_port(service)),
		         LOG_INT("ops_port", links_api_ops_port(service)));
		shutdown_wait(shutdown);
		log_info(log, "stopping");
	}

	/* drain, in reverse */
	if (service)
		links_api_drain(service);
	links_api_free(service);
	log_info(log, "stopped");
	metrics_free(metrics);
	log_free(log);
	shutdown_free(shutdown);
	return status;
}
