#include "services/analytics-consumer/facts/fact_sources.h"

#include <stdlib.h>

#include "lib/base/file_watch.h"
#include "lib/base/mem.h"

struct fact_sources {
	struct geoip *geoip;
	bool owns_geoip;
	struct user_agent_parser *user_agents;
	struct enrich_caches *caches;
	struct file_watch *watch;
};

static enum err reload_geoip(void *ctx)
{
	const struct fact_sources *sources = ctx;
	return geoip_reload(sources->geoip);
}

static enum err reload_user_agents(void *ctx)
{
	const struct fact_sources *sources = ctx;
	return user_agent_parser_reload(sources->user_agents);
}

static struct file_watch *watch_files(struct fact_sources *sources,
                                      const struct fact_sources_config *config)
{
	/* Only the owner of the GeoIP database reloads it. */
	const struct file_watch_file files[] = { { config->ua_regexes, reload_user_agents,
		                                   sources },
		                                 { config->geoip_db, reload_geoip, sources } };
	struct file_watch_config watch = { .files = files,
		                           .count = sources->owns_geoip ? 2 : 1,
		                           .interval_ms = config->check_ms };
	if (config->metrics)
		watch.broken = metrics_gauge(
			config->metrics, "waymark_fact_files_broken",
			"Files among GEOIP_DB and UA_REGEXES whose current content cannot be used",
			NULL);
	return file_watch_new(&watch);
}

enum err fact_sources_open(const struct fact_sources_config *config, struct fact_sources **out)
{
	struct fact_sources *sources = mem_zero(sizeof(*sources));
	sources->owns_geoip = !config->share_geoip_with;
	sources->watch = watch_files(sources, config);
	sources->caches = enrich_caches_new();
	enum err err = OK;
	if (config->share_geoip_with)
		sources->geoip = config->share_geoip_with->geoip;
	else
		err = geoip_open(config->geoip_db, config->log, &sources->geoip);
	if (err == OK)
		err = user_agent_parser_new(config->ua_regexes, config->user_agent_cache,
		                            config->log, &sources->user_agents);
	if (err != OK) {
		fact_sources_close(sources);
		return err;
	}
	file_watch_start(sources->watch);
	*out = sources;
	return OK;
}

void fact_sources_close(struct fact_sources *sources)
{
	if (!sources)
		return;
	file_watch_free(sources->watch);
	user_agent_parser_free(sources->user_agents);
	enrich_caches_free(sources->caches);
	if (sources->owns_geoip)
		geoip_close(sources->geoip);
	free(sources);
}

struct enrich_sources fact_sources_get(const struct fact_sources *sources)
{
	if (!sources)
		return (struct enrich_sources){ 0 };
	return (struct enrich_sources){ .user_agents = sources->user_agents,
		                        .geoip = sources->geoip,
		                        .caches = sources->caches };
}
