/*
 * Each line of its input has a destination, a query and the rest of a path, in hexadecimal and
 * separated by tabs. For each it writes "=" and what link_forward_build makes of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/mem.h"
#include "lib/links/link_forward.h"

static char *take_text(char **line)
{
	const char *hex = strsep(line, "\t\n");
	size_t len = hex ? strlen(hex) / 2 : 0;
	char *text = mem_zero(len + 1);
	if (hex)
		digest_unhex(hex, (uint8_t *)text, len);
	return text;
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;
	struct strbuf out;
	strbuf_init(&out, LINK_FORWARD_BYTES_MAX);
	while (getline(&line, &room, stdin) > 0) {
		char hex[2 * LINK_FORWARD_BYTES_MAX + 1], *rest_of_line = line;
		char *destination = take_text(&rest_of_line);
		char *query = take_text(&rest_of_line);
		char *rest = take_text(&rest_of_line);
		link_forward_build(destination, query, rest, true, true, &out);
		digest_hex((const uint8_t *)out.data, out.len, hex);
		printf("=%s\n", hex);
		free(destination);
		free(query);
		free(rest);
	}
	strbuf_clear(&out);
	free(line);
	return 0;
}
