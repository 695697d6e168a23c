#include <stdlib.h>
#include <sys/resource.h>

#include "lib/base/metrics.h"
#include "lib/base/shutdown.h"
#include "services/redirector/redirector.h"

/* Each connection needs a descriptor, and the soft limit is 1,024 on most machines. */
static void allow_many_connections(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
	/* read the configuration */
	struct config config;
	int status = program_start(&config_program, argc, argv, &config);
	if (status != PROGRAM_RUN)
		return status;

	/* create */
	allow_many_connections();
	struct shutdown *shutdown = shutdown_new();
	struct log *log = log_new("redirector", config.log_level, 2);
	struct metrics *metrics = metrics_new();
	metrics_register_process(metrics);
	struct redirector *redirector = NULL;
	enum err err = redirector_new(&config, clock_system(), log, metrics, &redirector);
	status = err == OK ? EXIT_SUCCESS : PROGRAM_EXIT_USAGE;

	/* serve */
	if (err == OK) {
		err = redirector_serve(redirector);
		status = err == OK ? EXIT_SUCCESS : EXIT_FAILURE;
	}

	/* wait for SIGTERM */
	if (err == OK) {
		log_info(log, "started", LOG_TEXT("version", WAYMARK_VERSION));
		shutdown_wait(shutdown);
		log_info(log, "stopping");
	}

	/* drain, free in reverse order */
	if (redirector)
		err = redirector_drain(redirector);
	log_info(log, "stopped", LOG_TEXT("flush", err_name(err)));
	redirector_free(redirector);
	metrics_free(metrics);
	log_free(log);
	shutdown_free(shutdown);
	return status;
}
