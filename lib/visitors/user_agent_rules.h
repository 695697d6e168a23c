/*
 * The rules of uap-core's regexes.yaml, applied as in its specification (docs/specification.md of
 * ua-parser/uap-core, version 0.2). The first matching rule of a list wins. Replacements may insert
 * $1 to $9, and results are trimmed. Without a match the family is "Other". The rules of
 * user_agents.yaml go before those of uap-core.
 *
 * One thread at a time, because matching uses a shared buffer.
 */
#ifndef WAYMARK_LIB_VISITORS_USER_AGENT_RULES_H
#define WAYMARK_LIB_VISITORS_USER_AGENT_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define USER_AGENT_RULES_FIELDS_MAX 5
#define USER_AGENT_RULES_FIELD_SIZE 256

enum user_agent_rules_list {
	USER_AGENT_RULES_BROWSER, /* fields: family, major, minor, patch */
	USER_AGENT_RULES_OS,      /* family, major, minor, patch, patch minor */
	USER_AGENT_RULES_DEVICE,  /* family; for user_agent_rules_is_spider */
	USER_AGENT_RULES_LISTS,
};

/* A field that the rule does not set is "". A longer field is cut at a character boundary. */
struct user_agent_match {
	char fields[USER_AGENT_RULES_FIELDS_MAX][USER_AGENT_RULES_FIELD_SIZE];
};

struct user_agent_rules;

/*
 * Compiles every rule of the file; path "": of uap-core as the build embeds it. ERR_NOT_FOUND,
 * ERR_INVALID: the file cannot be read, or a rule cannot be compiled; problem says why.
 */
enum err user_agent_rules_load(const char *path, struct user_agent_rules **out,
                               struct strbuf *problem) MUST_CHECK;
void user_agent_rules_free(struct user_agent_rules *rules);
/* The number of rules in all lists. */
size_t user_agent_rules_count(const struct user_agent_rules *rules);

/* text: valid UTF-8. A rule that exceeds the backtracking limit does not match. */
void user_agent_rules_match(struct user_agent_rules *rules, enum user_agent_rules_list list,
                            const char *text, size_t len, struct user_agent_match *out);

/* Whether the first matching rule of the devices has the family "Spider", uap-core's crawlers. */
bool user_agent_rules_is_spider(struct user_agent_rules *rules, const char *text, size_t len);

#endif
