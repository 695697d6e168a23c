#include "services/janitor/destinations/destinations.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/link_check_store.h"
#include "services/janitor/destinations/check_policy.h"
#include "services/janitor/destinations/destination_check.h"
#include "services/janitor/destinations/fetch.h"
#include "services/janitor/destinations/host_store.h"

#define STALE_HOSTS_MAX 1000

/* The context of a batch. */
struct claim_batch {
	struct link_check_due *due;
	size_t *count;
	const struct destination_check *check;
};

static enum err claim(const struct run *run, int64_t *changed)
{
	const struct claim_batch *batch = run->ctx;
	(void)changed;
	return link_check_store_claim(run->conn, DESTINATIONS_BATCH, DESTINATIONS_LEASE_S,
	                              batch->due, batch->count);
}

static enum err store_result(const struct run *run, int64_t *changed)
{
	const struct claim_batch *batch = run->ctx;
	const struct link_check_due *due = batch->due;
	if (!batch->check->is_complete)
		return link_check_store_postpone(run->conn, due, batch->check->wait_ms);
	int64_t failures = 0;
	if (check_policy_is_dead(batch->check->status))
		failures = due->failures < CHECK_POLICY_FAILURES_MAX ? due->failures + 1
		                                                     : due->failures;
	int64_t next_s =
		check_policy_next_s(run->config->destination_recheck_s,
	                            run->config->destination_retry_s, failures, due->link_id);
	*changed = 1;
	return link_check_store_write(run->conn, due, batch->check->status, failures, next_s);
}

static enum err delete_stale_hosts(const struct run *run, int64_t *changed)
{
	(void)changed;
	return host_store_delete_stale(run->conn, STALE_HOSTS_MAX);
}

/* After a shutdown request, a link that was not checked is postponed by 0 ms. */
static enum err check_link(struct run *run, struct destination_check_pacer *pacer,
                           struct link_check_due *due, int64_t *changed)
{
	struct destination_check check = { 0 };
	struct claim_batch batch = { .due = due, .check = &check };
	enum err err = OK;
	if (!shutdown_requested(run->shutdown))
		err = destination_check_run(run, pacer, due->url, &check);
	if (err == OK)
		err = run_batch_with_ctx(run, store_result, &batch, changed);
	return err;
}

static enum err check_due(struct run *run, struct link_check_due *due, int64_t *changed)
{
	const int64_t started_us = clock_steady_us(run->clock);
	const int64_t interval_us = CLOCK_US_PER_S / run->config->destinations_per_s;
	struct destination_check_pacer pacer = { started_us + interval_us };
	size_t count;
	enum err err;
	do {
		count = 0;
		err = run_batch_with_ctx(
			run, claim, &(struct claim_batch){ .due = due, .count = &count }, changed);
		for (size_t i = 0; err == OK && i < count; i++)
			err = check_link(run, &pacer, &due[i], changed);
		if (shutdown_requested(run->shutdown)) {
			run->is_interrupted = true;
			return err;
		}
	} while (err == OK && count == DESTINATIONS_BATCH &&
	         clock_steady_us(run->clock) - started_us < DESTINATIONS_RUN_S * CLOCK_US_PER_S);
	return err;
}

enum err destinations_run(struct run *run, int64_t *changed)
{
	struct link_check_due *due = mem_array(DESTINATIONS_BATCH, sizeof(*due));
	fetch_start();
	enum err err = run_batch(run, delete_stale_hosts, changed);
	if (err == OK)
		err = check_due(run, due, changed);
	fetch_end();
	free(due);
	return err;
}
