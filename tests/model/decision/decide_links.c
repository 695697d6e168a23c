/*
 * Decides for each visitor of its input. Fields are separated by tabs, and absent texts are empty:
 *
 *   L  link_id  original_url  extras in hexadecimal
 *   V  now_us  is_bot  random  hash in hexadecimal  country  region  city  device  os  browser
 *      language  referrer_host  query
 *
 * A visitor is one of the link above. For each it writes: kind, url, fallback_url, rule, variant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/links/link_decision.h"
#include "lib/links/link_extras.h"

#define FIELDS_MAX 14

struct input {
	int64_t link_id;
	char original_url[LINK_URL_SIZE];
	uint8_t extras[LINK_EXTRAS_BYTES_MAX];
	size_t extras_len;
};

static void fail(const char *problem)
{
	fprintf(stderr, "%s\n", problem);
	exit(1);
}

static size_t split(char *line, char *fields[FIELDS_MAX])
{
	size_t count = 0;
	line[strcspn(line, "\n")] = '\0';
	for (char *field; count < FIELDS_MAX && (field = strsep(&line, "\t"));)
		fields[count++] = field;
	return count;
}

static void read_link(char *const *fields, struct input *input)
{
	size_t url_len = strlen(fields[2]), extras_len = strlen(fields[3]) / 2;
	if (url_len >= sizeof(input->original_url) || extras_len > sizeof(input->extras))
		fail("a link is too long");
	input->link_id = strtoll(fields[1], NULL, 10);
	memcpy(input->original_url, fields[2], url_len + 1);
	digest_unhex(fields[3], input->extras, extras_len);
	input->extras_len = extras_len;
}

static void decide(char *const *fields, const struct input *input)
{
	uint8_t hash[LINK_VISITOR_HASH_SIZE];
	bool has_hash = strlen(fields[4]) == 2 * sizeof(hash);
	if (has_hash)
		digest_unhex(fields[4], hash, sizeof(hash));
	const struct link_visitor visitor = {
		.now_us = strtoll(fields[1], NULL, 10),
		.is_bot = fields[2][0] == '1',
		.random = strtoull(fields[3], NULL, 10),
		.visitor_hash = has_hash ? hash : NULL,
		.country = fields[5],
		.region = fields[6],
		.city = fields[7],
		.device = fields[8],
		.os = fields[9],
		.browser = fields[10],
		.language = fields[11],
		.referrer_host = fields[12],
		.query = fields[13],
	};
	struct link_decision decision;
	Waymark__V1__LinkExtras *extras = link_extras_open(input->extras, input->extras_len);
	/* Plain links have none. */
	Waymark__V1__LinkExtras none = WAYMARK__V1__LINK_EXTRAS__INIT;
	if (!extras && input->extras_len > 0)
		fail("extras are refused");
	link_decision_take(extras ? extras : &none, input->link_id, input->original_url, &visitor,
	                   &decision);
	printf("%s\t%s\t%s\t%s\t%s\n", decision.kind == LINK_DECISION_GONE ? "gone" : "redirect",
	       decision.url, decision.fallback_url, decision.rule, decision.variant);
	link_extras_free(extras);
}

int main(void)
{
	static struct input input;
	char *line = NULL, *fields[FIELDS_MAX];
	size_t room = 0;
	while (getline(&line, &room, stdin) > 0) {
		size_t count = split(line, fields);
		if (count == 4 && fields[0][0] == 'L')
			read_link(fields, &input);
		else if (count == FIELDS_MAX && fields[0][0] == 'V')
			decide(fields, &input);
		else
			fail("a line is neither a link nor a visitor");
	}
	free(line);
	return 0;
}
