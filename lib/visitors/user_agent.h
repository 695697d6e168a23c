/*
 * Safe from any thread. Derives browser, operating system and device from a User-Agent header by
 * the rules of uap-core. Results are cached by text, because the rules take 60 µs for a browser and
 * 100 µs for a crawler.
 */
#ifndef WAYMARK_LIB_VISITORS_USER_AGENT_H
#define WAYMARK_LIB_VISITORS_USER_AGENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/log.h"

/* The few classes that statistics count. */
enum user_agent_device {
	USER_AGENT_OTHER, /* television, console, watch, program or unknown */
	USER_AGENT_DESKTOP,
	USER_AGENT_MOBILE,
	USER_AGENT_TABLET,
	USER_AGENT_BOT,
};

struct user_agent {
	/* Family: "Mobile Safari"; "Other" = unknown. */
	char browser[64];
	/* "17.5.1"; "" = unknown. */
	char browser_version[32];
	char os[64];
	/* Also "" for a constant that browsers send instead, such as "Windows NT 10.0". */
	char os_version[32];
	enum user_agent_device device;
	/* "crawler" and others (bot.h); "" = not known as a bot; a literal. */
	const char *bot_reason;
};

struct user_agent_parser;

/* path (borrowed): as in user_agent_rules.h. ERR_NOT_FOUND, ERR_INVALID: unusable (logged). */
enum err user_agent_parser_new(const char *path, size_t cache_capacity, const struct log *log,
                               struct user_agent_parser **out) MUST_CHECK;
void user_agent_parser_free(struct user_agent_parser *parser);

/*
 * Reads the file again; other threads parse by the old rules meanwhile. ERR_NOT_FOUND, ERR_INVALID:
 * the file cannot be used (logged), and the old rules stay in use.
 */
enum err user_agent_parser_reload(struct user_agent_parser *parser) MUST_CHECK;

/* text: valid UTF-8 of at most REDIRECT_EVENT_USER_AGENT_MAX bytes. */
void user_agent_parse(struct user_agent_parser *parser, const char *text, struct user_agent *out);

/* The name in the database and in events: "desktop", "mobile", "tablet", "bot" or "other". */
const char *user_agent_device_name(enum user_agent_device device);

/* True for a television, a set-top box, a console or a watch. */
bool user_agent_is_appliance(const char *text);

/* True if text contains, or begins with, one of the words, which end with NULL. */
bool user_agent_contains(const char *text, const char *const *words);
bool user_agent_begins_with(const char *text, const char *const *words);

#endif
