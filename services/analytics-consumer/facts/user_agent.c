#include "services/analytics-consumer/facts/user_agent.h"

#include <stdatomic.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/facts/bot.h"
#include "services/analytics-consumer/facts/text_cache.h"
#include "services/analytics-consumer/facts/user_agent_rules.h"

struct user_agent_parser {
	const char *path;
	const struct log *log;
	struct user_agent_rules *rules;
	/* Waiting for the next parse; or NULL. */
	struct user_agent_rules *_Atomic reloaded;
	/* Of struct user_agent. */
	struct text_cache *cache;
};

static enum err load(const char *path, const struct log *log, struct user_agent_rules **out)
{
	struct strbuf problem;
	strbuf_init(&problem, 1000);
	enum err err = user_agent_rules_load(path, out, &problem);
	if (err == OK)
		log_info(log, "user_agent_rules_read",
		         LOG_INT("count", user_agent_rules_count(*out)));
	else
		log_error(log, "user_agent_rules_unreadable", LOG_TEXT("path", path),
		          LOG_TEXT("message", problem.data));
	strbuf_clear(&problem);
	return err;
}

enum err user_agent_parser_new(const char *path, size_t cache_capacity, const struct log *log,
                               struct user_agent_parser **out)
{
	struct user_agent_rules *rules = NULL;
	enum err err = load(path, log, &rules);
	if (err != OK)
		return err;
	struct user_agent_parser *parser = mem_zero(sizeof(*parser));
	parser->path = path;
	parser->log = log;
	parser->rules = rules;
	parser->cache = text_cache_new(cache_capacity, REDIRECT_EVENT_USER_AGENT_MAX,
	                               sizeof(struct user_agent));
	*out = parser;
	return OK;
}

void user_agent_parser_free(struct user_agent_parser *parser)
{
	if (!parser)
		return;
	user_agent_rules_free(parser->reloaded);
	user_agent_rules_free(parser->rules);
	text_cache_free(parser->cache);
	free(parser);
}

enum err user_agent_parser_reload(struct user_agent_parser *parser)
{
	struct user_agent_rules *fresh = NULL;
	enum err err = load(parser->path, parser->log, &fresh);
	if (err == OK)
		user_agent_rules_free(atomic_exchange(&parser->reloaded, fresh));
	return err;
}

static void apply_reload(struct user_agent_parser *parser)
{
	if (!atomic_load_explicit(&parser->reloaded, memory_order_relaxed))
		return;
	user_agent_rules_free(parser->rules);
	parser->rules = atomic_exchange(&parser->reloaded, NULL);
	text_cache_clear(parser->cache);
}

static void copy_family(const struct user_agent_match *match, char *out, size_t size)
{
	const char *family = match->fields[0];
	utf8_copy_clean(family, strlen(family), out, size);
}

/* "17.5.1": all parts before the first missing one. */
static void join_version(const struct user_agent_match *match, char *out, size_t size)
{
	char version[USER_AGENT_RULES_FIELDS_MAX * (USER_AGENT_RULES_FIELD_SIZE + 1)] = "";
	char *end = version;
	for (size_t f = 1; f < USER_AGENT_RULES_FIELDS_MAX && match->fields[f][0] != '\0'; f++) {
		if (f > 1)
			*end++ = '.';
		end = stpcpy(end, match->fields[f]);
	}
	utf8_copy_clean(version, (size_t)(end - version), out, size);
}

static void match_rules(struct user_agent_parser *parser, const char *text, struct user_agent *out)
{
	struct user_agent_match browser, os;
	size_t len = strlen(text);
	user_agent_rules_match(parser->rules, USER_AGENT_RULES_BROWSER, text, len, &browser);
	user_agent_rules_match(parser->rules, USER_AGENT_RULES_OS, text, len, &os);
	copy_family(&browser, out->browser, sizeof(out->browser));
	join_version(&browser, out->browser_version, sizeof(out->browser_version));
	copy_family(&os, out->os, sizeof(out->os));
	join_version(&os, out->os_version, sizeof(out->os_version));
	out->device = device_class_of(text, os.fields[0],
	                              user_agent_rules_is_spider(parser->rules, text, len));
	out->bot_reason = bot_agent_reason(text, out->device);
}

void user_agent_parse(struct user_agent_parser *parser, const char *text, struct user_agent *out)
{
	apply_reload(parser);
	const struct user_agent *cached = text_cache_get(parser->cache, text);
	if (cached) {
		*out = *cached;
		return;
	}
	match_rules(parser, text, out);
	text_cache_put(parser->cache, text, out);
}
