/*
 * Checks the rules for bots against published lists of user agents. WAYMARK_CRAWLERS and
 * WAYMARK_BROWSERS name files with one user agent per line (tests/support/with-user-agents provides
 * them).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/clicks/redirect_event.h"
#include "lib/visitors/user_agent.h"
#include "tests/support/test.h"

#define PRINTED_MAX 60

struct count {
	size_t all, bots;
};

/* Counts bots and prints the user agents that are classified differently from the list. */
static struct count classify(struct user_agent_parser *parser, const char *path, bool are_bots)
{
	struct count count = { 0, 0 };
	char line[4096];
	size_t printed = 0;
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char text[REDIRECT_EVENT_USER_AGENT_MAX + 1];
		struct user_agent agent;
		utf8_copy_clean(line, strcspn(line, "\n"), text, sizeof(text));
		user_agent_parse(parser, text, &agent);
		bool is_bot = agent.bot_reason[0] != '\0';
		count.all++;
		count.bots += is_bot;
		if (is_bot != are_bots && printed++ < PRINTED_MAX)
			printf("  %s: %s\n", is_bot ? agent.bot_reason : "not a bot", text);
	}
	fclose(file);
	return count;
}

TEST_CASE(flags_known_crawlers)
{
	const struct count found = classify(*state, getenv("WAYMARK_CRAWLERS"), true);
	printf("crawlers flagged: %zu of %zu (%.2f %%)\n", found.bots, found.all,
	       100.0 * (double)found.bots / (double)found.all);
	assert_true(found.all > 1000);
	assert_true(found.bots * 100 >= found.all * 97);
}

TEST_CASE(does_not_flag_browsers_of_people)
{
	const struct count found = classify(*state, getenv("WAYMARK_BROWSERS"), false);
	printf("browsers flagged: %zu of %zu\n", found.bots, found.all);
	assert_true(found.all > 500);
	assert_true(found.bots * 1000 <= found.all);
}

static int set_up(void **state)
{
	struct user_agent_parser *parser = NULL;
	if (!getenv("WAYMARK_CRAWLERS") || !getenv("WAYMARK_BROWSERS"))
		return -1;
	enum err err = user_agent_parser_new("", 10, NULL, &parser);
	*state = parser;
	return err == OK ? 0 : -1;
}

static int tear_down(void **state)
{
	user_agent_parser_free(*state);
	return 0;
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
