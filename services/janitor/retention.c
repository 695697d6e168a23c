#include "services/janitor/retention.h"

#include "services/janitor/audit_log.h"
#include "services/janitor/calendar.h"
#include "services/janitor/partition_store.h"
#include "services/janitor/past_requests.h"
#include "services/janitor/purged_statistics.h"

/* One day per transaction: its locks are held for as short as can be. */
static enum err drop_oldest(const struct run *run, int64_t *changed)
{
	bool dropped = false;
	enum err err = partition_store_drop(run->conn, calendar_oldest_visits(run), &dropped);
	*changed = dropped;
	return err;
}

enum err retention_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check(run);
	if (err == OK)
		err = run_while_changing(run, drop_oldest, changed);
	if (err == OK && !run->interrupted)
		err = purged_statistics_forget(run, changed);
	if (err == OK && !run->interrupted)
		err = audit_log_forget(run, changed);
	if (err == OK && !run->interrupted)
		err = past_requests_forget(run, changed);
	return err;
}
