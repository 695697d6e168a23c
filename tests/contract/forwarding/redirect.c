/*
 * The same as forward.c by a real redirector, in this process and with real stores: lines of a
 * destination, a query and the rest of a path, and for each where the redirector leads. An empty
 * answer: nowhere, or the request is none that HTTP can carry.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/mem.h"
#include "lib/links/link_extras.h"
#include "tests/integration/redirector/fixture.h"
#include "tests/support/test.h"

#define DESTINATIONS_MAX 64
#define LINES_MAX 100000
/* The fixture's request has 4,096 bytes. */
#define TARGET_MAX 3500

struct request {
	size_t destination;
	char *query;
	char *rest;
};

static char *destinations[DESTINATIONS_MAX];
static size_t destinations_count;

static char *take_text(char **line)
{
	const char *hex = strsep(line, "\t\n");
	size_t len = hex ? strlen(hex) / 2 : 0;
	char *text = mem_zero(len + 1);
	if (hex)
		digest_unhex(hex, (uint8_t *)text, len);
	return text;
}

static void name_of(size_t destination, char name[static 8])
{
	snprintf(name, 8, "d%zu", destination);
}

static void add_link(struct fixture *f, size_t destination)
{
	char name[8], column[512];
	Waymark__V1__LinkExtras extras = WAYMARK__V1__LINK_EXTRAS__INIT;
	extras.forward_query = extras.forward_path = true;
	name_of(destination, name);
	snprintf(column, sizeof(column), "original_url = '%s'", destinations[destination]);
	fixture_add_link_with(f, name, &extras, column);
}

static size_t find_destination(struct fixture *f, char *url)
{
	size_t i = 0;
	while (i < destinations_count && strcmp(destinations[i], url) != 0)
		i++;
	if (i < destinations_count) {
		free(url);
		return i;
	}
	assert_true(i < DESTINATIONS_MAX);
	destinations[destinations_count++] = url;
	add_link(f, i);
	return i;
}

static bool can_be_sent(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	return true;
}

static const char *follow(struct fixture *f, const struct request *request,
                          char location[static 16384])
{
	char target[4096], name[8], slug[SLUG_SIZE];
	name_of(request->destination, name);
	if (strlen(request->query) + strlen(request->rest) > TARGET_MAX ||
	    !can_be_sent(request->query) || !can_be_sent(request->rest))
		return "";
	snprintf(target, sizeof(target), "GET /%s%s%s%s", fixture_slug(f, name, slug),
	         request->rest, request->query[0] ? "?" : "", request->query);
	fixture_request(f, target, "");
	assert_null(strstr(f->answer.head, "\nSet-Cookie"));
	assert_null(strstr(f->answer.head, "\nX:"));
	assert_true(http_fixture_count(f->answer.head, "\nLocation:") <= 1);
	return http_fixture_header(&f->answer, "Location", location, 16384);
}

TEST_CASE(leads_where_the_link_says)
{
	struct fixture *f = *state;
	struct request *requests = mem_array(LINES_MAX, sizeof(*requests));
	static char location[16384], hex[2 * 16384 + 1];
	char *line = NULL;
	size_t room = 0, count = 0;
	for (; getline(&line, &room, stdin) > 0; count++) {
		char *rest_of_line = line;
		assert_true(count < LINES_MAX);
		requests[count].destination = find_destination(f, take_text(&rest_of_line));
		requests[count].query = take_text(&rest_of_line);
		requests[count].rest = take_text(&rest_of_line);
	}
	f->config.memory_ttl_ms = 600000;
	fixture_start(f);
	for (size_t i = 0; i < count; i++) {
		const char *found = follow(f, &requests[i], location);
		digest_hex((const uint8_t *)found, strlen(found), hex);
		printf("=%s\n", hex);
		free(requests[i].query);
		free(requests[i].rest);
	}
	while (destinations_count > 0)
		free(destinations[--destinations_count]);
	free(requests);
	free(line);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
