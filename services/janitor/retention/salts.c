#include "services/janitor/retention/salts.h"

#include "lib/clicks/salt_store.h"
#include "services/janitor/retention/calendar.h"

static enum err create_salts(const struct run *run, int64_t *changed)
{
	int32_t today = calendar_today(run);
	return salt_store_create_missing(run->conn, today, today + SALTS_AHEAD_DAYS, changed);
}

static enum err delete_old_salts(const struct run *run, int64_t *changed)
{
	return salt_store_delete_before(run->conn, calendar_day_ago(run, run->config->salts_keep_s),
	                                changed);
}

enum err salts_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check_skew(run);
	if (err == OK)
		err = run_batch(run, create_salts, changed);
	if (err == OK)
		err = run_batch(run, delete_old_salts, changed);
	return err;
}
