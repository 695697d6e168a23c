/*
 * One thread at a time. Derives browser, operating system and device from a User-Agent header by
 * the rules of uap-core. Results are cached by text, because the rules take 60 µs for a browser and
 * 100 µs for a crawler.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_USER_AGENT_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_USER_AGENT_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "services/analytics-consumer/facts/device_class.h"

struct user_agent {
	/* Family: "Mobile Safari"; "Other" = unknown. */
	char browser[64];
	/* "17.5.1"; "" = unknown. */
	char browser_version[32];
	char os[64];
	char os_version[32];
	enum device_class device;
	/* "crawler" and others (bot.h); "" = not known as a bot; a literal. */
	const char *bot_reason;
};

struct user_agent_parser;

/* path (borrowed): uap-core's regexes.yaml. ERR_NOT_FOUND, ERR_INVALID: unusable (logged). */
enum err user_agent_parser_new(const char *path, size_t cache_capacity, const struct log *log,
                               struct user_agent_parser **out) MUST_CHECK;
void user_agent_parser_free(struct user_agent_parser *parser);

/*
 * Safe from any thread while another one parses. The next user_agent_parse uses the new rules and
 * clears the cache. ERR_NOT_FOUND, ERR_INVALID: the file cannot be used (logged), and the old rules
 * stay in use.
 */
enum err user_agent_parser_reload(struct user_agent_parser *parser) MUST_CHECK;

/* text: valid UTF-8 of at most REDIRECT_EVENT_USER_AGENT_MAX bytes. */
void user_agent_parse(struct user_agent_parser *parser, const char *text, struct user_agent *out);

#endif
