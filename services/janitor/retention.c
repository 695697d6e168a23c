#include "services/janitor/retention.h"

#include "services/janitor/calendar.h"
#include "services/janitor/partition_store.h"
#include "services/janitor/purged_statistics.h"

static enum err drop_oldest(const struct run *run, int64_t *changed)
{
	bool dropped = false;
	enum err err = partition_store_drop(run->conn, calendar_oldest_visits(run), &dropped);
	*changed = dropped;
	return err;
}

/* One day per transaction: its locks are held for as short as can be. */
static enum err drop_all(struct run *run, int64_t *changed)
{
	int64_t before;
	enum err err;
	do {
		if (shutdown_requested(run->shutdown)) {
			run->interrupted = true;
			return OK;
		}
		before = *changed;
		err = run_batch(run, drop_oldest, changed);
	} while (err == OK && *changed > before);
	return err;
}

enum err retention_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check(run);
	if (err == OK)
		err = drop_all(run, changed);
	if (err == OK && !run->interrupted)
		err = purged_statistics_forget(run, changed);
	return err;
}
