#include "services/janitor/destinations.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/link_check_store.h"
#include "services/janitor/destination_plan.h"
#include "services/janitor/destination_visit.h"
#include "services/janitor/fetch.h"
#include "services/janitor/host_store.h"

#define FORGET_ROWS 1000

/* What a batch is about. */
struct step {
	struct link_check_due *due;
	size_t *count;
	const struct destination_visit *visit;
};

static enum err claim(const struct run *run, int64_t *changed)
{
	const struct step *step = run->own;
	(void)changed;
	return link_check_store_claim(run->conn, DESTINATIONS_BATCH, DESTINATIONS_LEASE_S, step->due, step->count);
}

static enum err write_down(const struct run *run, int64_t *changed)
{
	const struct step *step = run->own;
	const struct link_check_due *due = step->due;
	if (!step->visit->is_over)
		return link_check_store_postpone(run->conn, due, step->visit->wait_ms);
	int64_t failures = 0;
	if (destination_plan_is_dead(step->visit->status))
		failures = due->failures < DESTINATION_PLAN_FAILURES_MAX ? due->failures + 1 : due->failures;
	int64_t next_s = destination_plan_next_s(run->config->destination_recheck_s, run->config->destination_retry_s,
	                                         failures, due->link_id);
	*changed = 1;
	return link_check_store_write(run->conn, due, step->visit->status, failures, next_s);
}

static enum err forget_hosts(const struct run *run, int64_t *changed)
{
	(void)changed;
	return host_store_forget(run->conn, FORGET_ROWS);
}

/* At the program's end what was not visited is due again at once. */
static enum err check(struct run *run, struct destination_visit_pace *pace, struct link_check_due *due,
                      int64_t *changed)
{
	struct destination_visit visit = { 0 };
	enum err err = OK;
	if (!shutdown_requested(run->shutdown))
		err = destination_visit_run(run, pace, due->url, &visit);
	if (err == OK)
		err = run_batch_with(run, write_down, &(struct step){ .due = due, .visit = &visit }, changed);
	return err;
}

static enum err check_due(struct run *run, struct link_check_due *due, int64_t *changed)
{
	const int64_t began_us = clock_steady_us(run->clock);
	const int64_t apart_us = CLOCK_US_PER_S / run->config->destinations_per_s;
	struct destination_visit_pace pace = { began_us + apart_us };
	size_t count;
	enum err err;
	do {
		count = 0;
		err = run_batch_with(run, claim, &(struct step){ .due = due, .count = &count }, changed);
		for (size_t i = 0; err == OK && i < count; i++)
			err = check(run, &pace, &due[i], changed);
		if (shutdown_requested(run->shutdown)) {
			run->interrupted = true;
			return err;
		}
	} while (err == OK && count == DESTINATIONS_BATCH &&
	         clock_steady_us(run->clock) - began_us < DESTINATIONS_RUN_S * CLOCK_US_PER_S);
	return err;
}

enum err destinations_run(struct run *run, int64_t *changed)
{
	struct link_check_due *due = mem_array(DESTINATIONS_BATCH, sizeof(*due));
	fetch_start();
	enum err err = run_batch(run, forget_hosts, changed);
	if (err == OK)
		err = check_due(run, due, changed);
	fetch_end();
	free(due);
	return err;
}
