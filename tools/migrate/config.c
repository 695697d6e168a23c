#include "tools/migrate/config.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "lib/net/pg_conn.h"

static const struct env_var vars[] = {
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1, "libpq connection string of the schema's owner"),
	ENV_TEXT("MIGRATIONS_DIR", struct config, folder, "db/migrations", "folder with the migrations NNNN_name.sql"),
	ENV_INT("MIGRATE_WAIT_S", struct config, wait_s, "60", 0, 3600,
	        "seconds to wait for a server that cannot be reached"),
};

static size_t check(const void *arg, struct strbuf *problems)
{
	const struct config *config = arg;
	size_t wrong = 0;
	struct stat info;
	bool is_folder = stat(config->folder, &info) == 0 && S_ISDIR(info.st_mode);
	char reason[sizeof(config->folder) + 32];
	snprintf(reason, sizeof(reason), "%s is not a folder", config->folder);
	wrong += env_expect(pg_conn_url_is_valid(config->pg_url), "PG_URL", "libpq cannot read it", problems);
	wrong += env_expect(is_folder, "MIGRATIONS_DIR", reason, problems);
	return wrong;
}

const struct program config_program = {
	.name = "migrate",
	.summary = "applies pending migrations to a database; --status only lists applied and pending ones",
	.options = "--status",
	.vars = vars,
	.var_count = sizeof(vars) / sizeof(vars[0]),
	.check = check,
};
