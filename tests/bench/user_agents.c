/*
 * Reads one user agent per line and writes its class of device and the reason why it is a bot, with
 * a tab between them. tests/bench/user-agents runs it on published lists.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/clicks/redirect_event.h"
#include "lib/visitors/user_agent.h"

int main(void)
{
	struct user_agent_parser *parser = NULL;
	if (user_agent_parser_new("", 1, NULL, &parser) != OK)
		return 1;
	char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, stdin) > 0) {
		char text[REDIRECT_EVENT_USER_AGENT_MAX + 1];
		struct user_agent agent;
		utf8_copy_clean(line, strcspn(line, "\n"), text, sizeof(text));
		user_agent_parse(parser, text, &agent);
		printf("%s\t%s\n", user_agent_device_name(agent.device), agent.bot_reason);
	}
	free(line);
	user_agent_parser_free(parser);
	return 0;
}
