#include "services/analytics-consumer/user_agent.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "services/analytics-consumer/bot.h"
#include "services/analytics-consumer/user_agent_cache.h"
#include "services/analytics-consumer/user_agent_rules.h"

struct user_agent_parser {
	struct user_agent_rules *rules;
	struct user_agent_cache *cache;
};

enum err user_agent_parser_new(const char *path, size_t cache_capacity, const struct log *log,
                               struct user_agent_parser **out)
{
	struct strbuf problem;
	strbuf_init(&problem, 1000);
	struct user_agent_rules *rules = NULL;
	enum err err = user_agent_rules_load(path, &rules, &problem);
	if (err == OK) {
		struct user_agent_parser *parser = mem_zero(sizeof(*parser));
		parser->rules = rules;
		parser->cache = user_agent_cache_new(cache_capacity);
		*out = parser;
	} else {
		log_error(log, "user_agent_rules_unreadable", LOG_TEXT("path", path),
		          LOG_TEXT("message", problem.data));
	}
	strbuf_clear(&problem);
	return err;
}

void user_agent_parser_free(struct user_agent_parser *parser)
{
	if (!parser)
		return;
	user_agent_rules_free(parser->rules);
	user_agent_cache_free(parser->cache);
	free(parser);
}

static void copy_family(const struct user_agent_match *match, char *out, size_t size)
{
	const char *family = match->fields[0];
	utf8_copy_clean(family, strlen(family), out, size);
}

static void find_out(struct user_agent_parser *parser, const char *text, struct user_agent *out)
{
	struct user_agent_match browser, os, device;
	size_t len = strlen(text);
	user_agent_rules_match(parser->rules, USER_AGENT_RULES_BROWSER, text, len, &browser);
	user_agent_rules_match(parser->rules, USER_AGENT_RULES_OS, text, len, &os);
	user_agent_rules_match(parser->rules, USER_AGENT_RULES_DEVICE, text, len, &device);
	copy_family(&browser, out->browser, sizeof(out->browser));
	copy_family(&os, out->os, sizeof(out->os));
	out->device = device_class_of(text, os.fields[0], device.fields[0]);
	out->bot_reason = bot_agent_reason(text, out->device);
}

void user_agent_parse(struct user_agent_parser *parser, const char *text, struct user_agent *out)
{
	const struct user_agent *known = user_agent_cache_get(parser->cache, text);
	if (known) {
		*out = *known;
		return;
	}
	struct user_agent found;
	find_out(parser, text, &found);
	user_agent_cache_put(parser->cache, text, &found);
	*out = found;
}
