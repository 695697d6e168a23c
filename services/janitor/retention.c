#include "services/janitor/retention.h"

#include "services/janitor/calendar.h"
#include "services/janitor/partition_store.h"

static enum err drop_oldest(const struct run *run, int64_t *changed)
{
	bool dropped = false;
	enum err err = partition_store_drop(run->conn, calendar_oldest_visits(run), &dropped);
	*changed = dropped;
	return err;
}

enum err retention_run(struct run *run, int64_t *changed)
{
	int64_t before;
	enum err err = calendar_check(run);
	do {
		if (shutdown_requested(run->shutdown)) {
			run->interrupted = true;
			return OK;
		}
		before = *changed;
		if (err == OK)
			err = run_batch(run, drop_oldest, changed);
	} while (err == OK && *changed > before);
	return err;
}
