#include "lib/visitors/visitor_facts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/client_ip.h"
#include "lib/base/file_watch.h"
#include "lib/base/mem.h"
#include "lib/visitors/text_cache.h"
#include "lib/visitors/user_agent_rules.h"

#define PLACES_CACHED 20000
#define PROBLEM_BYTES_MAX 4096

struct visitor_facts {
	struct geoip *geoip;
	bool owns_geoip;
	struct user_agent_parser *user_agents;
	struct file_watch *watch;
	/* Protects the two below. */
	pthread_mutex_t lock;
	/* Of struct geoip_place, by network. */
	struct text_cache *places;
	unsigned places_generation;
};

static enum err reload_geoip(void *ctx)
{
	const struct visitor_facts *facts = ctx;
	return geoip_reload(facts->geoip);
}

static enum err reload_user_agents(void *ctx)
{
	const struct visitor_facts *facts = ctx;
	return user_agent_parser_reload(facts->user_agents);
}

static struct file_watch *watch_files(struct visitor_facts *facts,
                                      const struct visitor_facts_config *config)
{
	/* Only the owner of the GeoIP database reloads it. */
	const struct file_watch_file files[] = { { config->ua_regexes, reload_user_agents, facts },
		                                 { config->geoip_db, reload_geoip, facts } };
	struct file_watch_config watch = { .files = files,
		                           .count = facts->owns_geoip ? 2 : 1,
		                           .interval_ms = config->check_ms };
	if (config->metrics)
		watch.broken = metrics_gauge(
			config->metrics, "waymark_fact_files_broken",
			"Files among GEOIP_DB and UA_REGEXES whose current content cannot be used",
			NULL);
	return file_watch_new(&watch);
}

enum err visitor_facts_open(const struct visitor_facts_config *config, struct visitor_facts **out)
{
	struct visitor_facts *facts = mem_zero(sizeof(*facts));
	pthread_mutex_init(&facts->lock, NULL);
	facts->owns_geoip = !config->share_places_with;
	facts->watch = watch_files(facts, config);
	facts->places = text_cache_new(PLACES_CACHED, CLIENT_IP_NETWORK_SIZE - 1,
	                               sizeof(struct geoip_place));
	enum err err = OK;
	if (config->share_places_with)
		facts->geoip = config->share_places_with->geoip;
	else
		err = geoip_open(config->geoip_db, config->log, &facts->geoip);
	if (err == OK)
		err = user_agent_parser_new(config->ua_regexes, config->user_agent_cache,
		                            config->log, &facts->user_agents);
	if (err != OK) {
		visitor_facts_close(facts);
		return err;
	}
	file_watch_start(facts->watch);
	*out = facts;
	return OK;
}

void visitor_facts_close(struct visitor_facts *facts)
{
	if (!facts)
		return;
	file_watch_free(facts->watch);
	user_agent_parser_free(facts->user_agents);
	text_cache_free(facts->places);
	if (facts->owns_geoip)
		geoip_close(facts->geoip);
	pthread_mutex_destroy(&facts->lock);
	free(facts);
}

bool visitor_facts_has_places(const struct visitor_facts *facts)
{
	return geoip_generation(facts->geoip) > 0;
}

void visitor_facts_place(struct visitor_facts *facts, const char *network, struct geoip_place *out)
{
	pthread_mutex_lock(&facts->lock);
	unsigned generation = geoip_generation(facts->geoip);
	if (generation != facts->places_generation) {
		text_cache_clear(facts->places);
		facts->places_generation = generation;
	}
	const struct geoip_place *known = text_cache_get(facts->places, network);
	if (known) {
		*out = *known;
	} else {
		geoip_lookup(facts->geoip, network, out);
		text_cache_put(facts->places, network, out);
	}
	pthread_mutex_unlock(&facts->lock);
}

void visitor_facts_agent(struct visitor_facts *facts, const char *text, struct user_agent *out)
{
	user_agent_parse(facts->user_agents, text, out);
}

/* --- the settings --- */

static size_t check_geoip(const char *path, struct strbuf *problems)
{
	size_t wrong = env_check_file(path, "GEOIP_DB", problems);
	struct geoip *geoip = NULL;
	if (wrong == 0 && geoip_open(path, NULL, &geoip) != OK)
		wrong += env_check_reject("GEOIP_DB", path, strlen(path),
		                          "is no country or city database in MaxMind's format",
		                          problems);
	geoip_close(geoip);
	return wrong;
}

static size_t check_user_agents(const char *path, struct strbuf *problems)
{
	size_t wrong = env_check_file(path, "UA_REGEXES", problems);
	struct user_agent_rules *rules = NULL;
	struct strbuf why;
	strbuf_init(&why, PROBLEM_BYTES_MAX);
	if (wrong == 0 && user_agent_rules_load(path, &rules, &why) != OK)
		wrong += env_expect(false, "UA_REGEXES", why.data, problems);
	user_agent_rules_free(rules);
	strbuf_clear(&why);
	return wrong;
}

size_t visitor_facts_check(const char *geoip_db, const char *ua_regexes, struct strbuf *problems)
{
	return check_geoip(geoip_db, problems) + check_user_agents(ua_regexes, problems);
}
