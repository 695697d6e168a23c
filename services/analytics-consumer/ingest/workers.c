#include "services/analytics-consumer/ingest/workers.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/facts/enrich.h"

struct worker {
	struct visitor_facts *visitor;
	struct enrich *enrich;
	struct ingest *ingest;
};

struct workers {
	size_t count;
	struct worker all[WORKERS_MAX];
};

/* A city database takes 66 MB of memory. The first worker owns it and the others share it. */
static enum err start_worker(const struct workers_config *config, const struct visitor_facts *first,
                             struct worker *worker)
{
	struct visitor_facts_config facts = config->facts;
	facts.share_places_with = first;
	facts.user_agent_cache = (facts.user_agent_cache + config->count - 1) / config->count;
	enum err err = visitor_facts_open(&facts, &worker->visitor);
	if (err != OK)
		return err;
	worker->enrich = enrich_new(worker->visitor);
	struct ingest_config ingest = config->ingest;
	ingest.enrich = worker->enrich;
	return ingest_start(&ingest, &worker->ingest);
}

enum err workers_start(const struct workers_config *config, struct workers **out)
{
	struct workers *workers = mem_zero(sizeof(*workers));
	enum err err = config->count <= WORKERS_MAX ? OK : ERR_INVALID;
	for (; err == OK && workers->count < config->count; workers->count++)
		err = start_worker(config, workers->all[0].visitor, &workers->all[workers->count]);
	if (err == OK)
		*out = workers;
	else
		workers_stop(workers);
	return err;
}

void workers_stop(struct workers *workers)
{
	if (!workers)
		return;
	for (size_t i = 0; i < workers->count; i++)
		ingest_end(workers->all[i].ingest);
	for (size_t i = 0; i < workers->count; i++)
		ingest_stop(workers->all[i].ingest);
	for (size_t i = workers->count; i > 0; i--) {
		enrich_free(workers->all[i - 1].enrich);
		visitor_facts_close(workers->all[i - 1].visitor);
	}
	free(workers);
}

static bool all_workers(const struct workers *workers, bool (*check)(void *ingest))
{
	for (size_t i = 0; i < workers->count; i++) {
		if (!check(workers->all[i].ingest))
			return false;
	}
	return true;
}

bool workers_reach_kafka(void *ctx)
{
	return all_workers(ctx, ingest_kafka_is_reachable);
}

bool workers_have_no_halted_partition(void *ctx)
{
	return all_workers(ctx, ingest_has_no_halted_partition);
}

bool workers_can_store(void *ctx)
{
	return all_workers(ctx, ingest_can_store);
}

bool workers_can_send_dead_letters(void *ctx)
{
	return all_workers(ctx, ingest_can_send_dead_letters);
}
