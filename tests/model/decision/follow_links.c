/*
 * Visitors of a real redirector, in this process and with real stores, at any time. Reads the file
 * DECISION_CASES: first all links, then visitors. Fields are separated by tabs.
 *
 *   L  name  extras in hexadecimal
 *   V  name  by how many microseconds the clock is shifted  query  header lines in hexadecimal
 *
 * Writes to DECISION_ANSWERS: for a link its id; for a visitor the redirector's time before and
 * after, the status and the Location. DECISION_PLACES is the database of places. The salt of each
 * day is 32 bytes 0xab.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/links/link_extras.h"
#include "tests/integration/redirector/fixture.h"
#include "tests/support/test.h"

#define FIELDS_MAX 5

static size_t split(char *line, char *fields[FIELDS_MAX])
{
	size_t count = 0;
	line[strcspn(line, "\n")] = '\0';
	for (char *field; count < FIELDS_MAX && (field = strsep(&line, "\t"));)
		fields[count++] = field;
	return count;
}

static int64_t add_link(struct fixture *f, const char *name, const char *hex)
{
	uint8_t bytes[LINK_EXTRAS_BYTES_MAX];
	char sql[256], slug[SLUG_SIZE];
	size_t len = strlen(hex) / 2;
	assert_true(len <= sizeof(bytes));
	digest_unhex(hex, bytes, len);
	Waymark__V1__LinkExtras *extras = link_extras_open(bytes, len);
	if (extras)
		fixture_add_link_with(f, name, extras, "");
	else
		fixture_add_link(f, name);
	link_extras_free(extras);
	snprintf(sql, sizeof(sql), "SELECT id FROM links WHERE slug = '%s'",
	         fixture_slug(f, name, slug));
	return test_database_ask(f->database, sql);
}

static int64_t now_us(struct fixture *f)
{
	return clock_now_us(&f->clock.clock);
}

static void follow(struct fixture *f, char *const *fields, FILE *answers)
{
	char target[2048], headers[2048], slug[SLUG_SIZE], location[4096];
	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the caller has asserted the count */
	size_t len = strlen(fields[4]) / 2;
	assert_true(len < sizeof(headers));
	digest_unhex(fields[4], (uint8_t *)headers, len);
	headers[len] = '\0';
	snprintf(target, sizeof(target), "GET /%s%s%s", fixture_slug(f, fields[1], slug),
	         fields[3][0] ? "?" : "", fields[3]);
	fixture_shift_clock(f, strtoll(fields[2], NULL, 10));
	int64_t before_us = now_us(f);
	fixture_request(f, target, headers);
	fprintf(answers, "%lld\t%lld\t%u\t%s\n", (long long)before_us, (long long)now_us(f),
	        f->answer.status,
	        http_fixture_header(&f->answer, "Location", location, sizeof(location)));
}

static FILE *open_file(const char *name, const char *mode)
{
	const char *path = getenv(name);
	FILE *file = path ? fopen(path, mode) : NULL;
	if (!file)
		fail_msg("%s cannot be opened", name);
	return file;
}

TEST_CASE(follows_all_links)
{
	struct fixture *f = *state;
	FILE *cases = open_file("DECISION_CASES", "r"),
	     *answers = open_file("DECISION_ANSWERS", "w");
	const char *places = getenv("DECISION_PLACES");
	char *line = NULL, *fields[FIELDS_MAX];
	size_t room = 0;
	bool has_started = false;
	snprintf(f->config.geoip_db, sizeof(f->config.geoip_db), "%s", places ? places : "");
	f->config.memory_ttl_ms = 600000;
	test_database_run(
		f->database,
		"INSERT INTO visitor_salts SELECT current_date + n, decode(repeat('ab', 32), "
		"'hex') FROM generate_series(-1, 1) n");
	while (getline(&line, &room, cases) > 0) {
		size_t count = split(line, fields);
		if (count == 3) {
			fprintf(answers, "%lld\n", (long long)add_link(f, fields[1], fields[2]));
			continue;
		}
		assert_int_equal(count, FIELDS_MAX);
		if (!has_started)
			fixture_start(f);
		has_started = true;
		follow(f, fields, answers);
	}
	free(line);
	fclose(cases);
	fclose(answers);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
