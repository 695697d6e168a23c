#include "services/analytics-consumer/lanes.h"

#include <stdlib.h>

#include "lib/base/mem.h"

struct lane {
	struct fact_sources *sources;
	struct ingest *ingest;
};

struct lanes {
	size_t count;
	struct lane all[LANES_MAX];
};

/* A city database takes 66 MB: they have it in common, and the first of them keeps it. */
static enum err start_lane(const struct lanes_config *config, const struct fact_sources *first, struct lane *lane)
{
	struct fact_sources_config facts = config->facts;
	facts.places_of = first;
	facts.user_agent_cache = (facts.user_agent_cache + config->count - 1) / config->count;
	enum err err = fact_sources_open(&facts, &lane->sources);
	if (err != OK)
		return err;
	struct ingest_config ingest = config->ingest;
	ingest.sources = fact_sources_get(lane->sources);
	return ingest_start(&ingest, &lane->ingest);
}

enum err lanes_start(const struct lanes_config *config, struct lanes **out)
{
	struct lanes *lanes = mem_zero(sizeof(*lanes));
	enum err err = config->count <= LANES_MAX ? OK : ERR_INVALID;
	for (; err == OK && lanes->count < config->count; lanes->count++)
		err = start_lane(config, lanes->all[0].sources, &lanes->all[lanes->count]);
	if (err == OK)
		*out = lanes;
	else
		lanes_stop(lanes);
	return err;
}

void lanes_stop(struct lanes *lanes)
{
	if (!lanes)
		return;
	for (size_t i = 0; i < lanes->count; i++)
		ingest_end(lanes->all[i].ingest);
	for (size_t i = 0; i < lanes->count; i++)
		ingest_stop(lanes->all[i].ingest);
	for (size_t i = lanes->count; i > 0; i--)
		fact_sources_close(lanes->all[i - 1].sources);
	free(lanes);
}

static bool holds_for_all(const struct lanes *lanes, bool (*holds)(void *ingest))
{
	for (size_t i = 0; i < lanes->count; i++) {
		if (!holds(lanes->all[i].ingest))
			return false;
	}
	return true;
}

bool lanes_reach_kafka(void *ctx)
{
	return holds_for_all(ctx, ingest_kafka_is_reachable);
}

bool lanes_have_no_stranded_partition(void *ctx)
{
	return holds_for_all(ctx, ingest_has_no_stranded_partition);
}

bool lanes_are_storing(void *ctx)
{
	return holds_for_all(ctx, ingest_is_storing);
}

bool lanes_keep_dead_letters(void *ctx)
{
	return holds_for_all(ctx, ingest_keeps_dead_letters);
}
