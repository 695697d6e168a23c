/*
 * One thread at a time. What a User-Agent header says about its visitor, by the rules of uap-core, cached by text: a
 * pass over all rules takes about half a millisecond.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_USER_AGENT_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_USER_AGENT_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "services/analytics-consumer/device_class.h"

struct user_agent {
	char browser[64];         /* the family, "Mobile Safari"; "Other" = unknown */
	char browser_version[32]; /* "17.5.1"; "" = unknown */
	char os[64];
	char os_version[32];
	enum device_class device;
	const char *bot_reason; /* of a program, "crawler" (bot.h); "" = nothing says that it is one; a literal */
};

struct user_agent_parser;

/* path (borrowed): uap-core's regexes.yaml. ERR_NOT_FOUND, ERR_INVALID: it cannot be used (logged). */
enum err user_agent_parser_new(const char *path, size_t cache_capacity, const struct log *log,
                               struct user_agent_parser **out) MUST_CHECK;
void user_agent_parser_free(struct user_agent_parser *parser);

/*
 * Safe from any thread beside the one that parses, which takes the new rules and forgets what it remembers with its
 * next text. ERR_NOT_FOUND, ERR_INVALID: the file cannot be used (logged); the rules stay.
 */
enum err user_agent_parser_reread(struct user_agent_parser *parser) MUST_CHECK;

/* text: valid UTF-8 of at most REDIRECT_EVENT_USER_AGENT_MAX bytes. */
void user_agent_parse(struct user_agent_parser *parser, const char *text, struct user_agent *out);

#endif
