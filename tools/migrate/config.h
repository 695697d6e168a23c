/*
 * Pure. The environment variables of the migration runner.
 */
#ifndef WAYMARK_TOOLS_MIGRATE_CONFIG_H
#define WAYMARK_TOOLS_MIGRATE_CONFIG_H

#include <stdint.h>

#include "lib/base/program.h"

struct config {
	char pg_url[1024];
	char folder[512];
	int64_t wait_s;
};

extern const struct program config_program;

#endif
