/* GEOIP_DB and UA_REGEXES change while facts are asked for. */
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/visitors/visitor_facts.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define PATH_SIZE (TEST_FOLDER_SIZE + 32)
#define DEADLINE_US TEST_DEADLINE_US

/*
 * Two databases that place the same network in different countries. Shared, because building one
 * takes a second.
 */
struct databases {
	char folder[TEST_FOLDER_SIZE];
	char de[PATH_SIZE];
	char at[PATH_SIZE];
	/* Knows the network, but no place. */
	char networks[PATH_SIZE];
};

struct fixture {
	const struct databases *databases;
	char folder[TEST_FOLDER_SIZE];
	char geoip[PATH_SIZE];
	char rules[PATH_SIZE];
	struct metrics *metrics;
	struct visitor_facts *facts;
	/* The last answers. */
	struct geoip_place place;
	struct user_agent agent;
};

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void write_rules(const char *path, const char *browser)
{
	char text[300];
	snprintf(text, sizeof(text),
	         "user_agent_parsers:\n  - regex: 'Agent'\n    family_replacement: '%s'\n"
	         "os_parsers:\n  - regex: 'none'\ndevice_parsers:\n  - regex: 'none'\n",
	         browser);
	write_file(path, text);
}

static void build_database(const char *path, const char *country)
{
	char program[] = "tests/support/build-city-database";
	char out[PATH_SIZE];
	char row[64];
	char *const argv[] = { program, out, row, NULL };
	pid_t pid = 0;
	int status = -1;
	snprintf(out, sizeof(out), "%s", path);
	snprintf(row, sizeof(row), "203.0.113.0/24,%s,BE,Berlin", country);
	assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void in_folder(const char *folder, const char *name, char out[static PATH_SIZE])
{
	snprintf(out, PATH_SIZE, "%s/%s", folder, name);
}

/* Overwrites an existing file in place. */
static void copy_file(const char *from, const char *to)
{
	static uint8_t bytes[100000];
	FILE *file = fopen(from, "rb");
	assert_non_null(file);
	size_t len = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(len, 1, sizeof(bytes) - 1);
	file = fopen(to, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int make_databases(void **state)
{
	struct databases *d = mem_zero(sizeof(*d));
	test_folder_make(d->folder);
	in_folder(d->folder, "de", d->de);
	in_folder(d->folder, "at", d->at);
	in_folder(d->folder, "networks", d->networks);
	build_database(d->de, "DE");
	build_database(d->at, "AT");
	build_database(d->networks, "AS64500");
	*state = d;
	return 0;
}

static int remove_databases(void **state)
{
	struct databases *d = *state;
	test_folder_remove(d->folder);
	free(d);
	return 0;
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->databases = *state;
	test_folder_make(f->folder);
	in_folder(f->folder, "geoip.mmdb", f->geoip);
	in_folder(f->folder, "regexes.yaml", f->rules);
	copy_file(f->databases->de, f->geoip);
	write_rules(f->rules, "First");
	f->metrics = metrics_new();
	const struct visitor_facts_config config = { .geoip_db = f->geoip,
		                                     .ua_regexes = f->rules,
		                                     .user_agent_cache = 10,
		                                     .check_ms = 10,
		                                     .metrics = f->metrics };
	*state = f;
	return visitor_facts_open(&config, &f->facts) == OK ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	visitor_facts_close(f->facts);
	metrics_free(f->metrics);
	test_folder_remove(f->folder);
	*state = (void *)f->databases;
	free(f);
	return 0;
}

static void ask(struct fixture *f)
{
	visitor_facts_place(f->facts, "203.0.113.0/24", &f->place);
	visitor_facts_agent(f->facts, "Agent", &f->agent);
}

/* Keeps asking until text is the new value. Until then it must be the old one. */
static void await_value(struct fixture *f, const char *text, const char *old, const char *fresh)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_US;
	for (;;) {
		ask(f);
		if (strcmp(text, fresh) == 0)
			return;
		assert_string_equal(text, old);
		assert_true(clock_steady_us(clock_system()) < deadline_us);
	}
}

static void await_metric(struct fixture *f, const char *line)
{
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_US;
	for (bool found = false; !found;) {
		struct strbuf text;
		strbuf_init(&text, 100000);
		metrics_render(f->metrics, &text);
		found = strstr(text.data, line) != NULL;
		strbuf_clear(&text);
		ask(f);
		assert_true(clock_steady_us(clock_system()) < deadline_us);
	}
}

TEST_CASE(reloads_changed_files_while_facts_are_asked_for)
{
	struct fixture *f = *state;
	char fresh[PATH_SIZE];
	in_folder(f->folder, "fresh", fresh);
	ask(f);
	assert_string_equal(f->place.country, "DE");
	assert_string_equal(f->place.region, "DE-BE");
	assert_string_equal(f->agent.browser, "First");
	copy_file(f->databases->at, fresh);
	assert_int_equal(rename(fresh, f->geoip), 0);
	await_value(f, f->place.country, "DE", "AT");
	write_rules(fresh, "Second");
	assert_int_equal(rename(fresh, f->rules), 0);
	await_value(f, f->agent.browser, "First", "Second");
	write_rules(f->rules, "Third");
	await_value(f, f->agent.browser, "Second", "Third");
	assert_string_equal(f->place.country, "AT");
}

TEST_CASE(keeps_the_loaded_files_when_new_ones_are_invalid)
{
	struct fixture *f = *state;
	write_file(f->geoip, "not a database");
	write_file(f->rules, "user_agent_parsers: [");
	await_metric(f, "\nwaymark_fact_files_broken 2\n");
	ask(f);
	assert_string_equal(f->place.country, "DE");
	assert_string_equal(f->place.city, "Berlin");
	assert_string_equal(f->agent.browser, "First");
	copy_file(f->databases->at, f->geoip);
	await_value(f, f->place.country, "DE", "AT");
	unlink(f->rules);
	write_rules(f->rules, "Second");
	await_value(f, f->agent.browser, "First", "Second");
	await_metric(f, "\nwaymark_fact_files_broken 0\n");
}

TEST_CASE(keeps_its_database_when_the_new_one_has_no_places)
{
	struct fixture *f = *state;
	copy_file(f->databases->networks, f->geoip);
	await_metric(f, "\nwaymark_fact_files_broken 1\n");
	ask(f);
	assert_string_equal(f->place.country, "DE");
	assert_string_equal(f->place.city, "Berlin");
	copy_file(f->databases->at, f->geoip);
	await_value(f, f->place.country, "DE", "AT");
	await_metric(f, "\nwaymark_fact_files_broken 0\n");
}

/* Truncating a memory-mapped file would end the process with SIGBUS. */
TEST_CASE(survives_truncation_of_its_database_in_place)
{
	struct fixture *f = *state;
	assert_int_equal(truncate(f->geoip, 0), 0);
	await_metric(f, "\nwaymark_fact_files_broken 1\n");
	ask(f);
	assert_string_equal(f->place.country, "DE");
}

/* Only one of the two reloads the database, and both use the result. */
TEST_CASE(shares_its_geoip_database)
{
	struct fixture *f = *state;
	const struct visitor_facts_config config = { .geoip_db = "/not/looked/at",
		                                     .ua_regexes = f->rules,
		                                     .user_agent_cache = 10,
		                                     .check_ms = 10,
		                                     .share_places_with = f->facts };
	struct visitor_facts *sharing = NULL;
	struct visitor_facts *own = f->facts;
	assert_int_equal(visitor_facts_open(&config, &sharing), OK);
	f->facts = sharing;
	ask(f);
	assert_string_equal(f->place.country, "DE");
	copy_file(f->databases->at, f->geoip);
	await_value(f, f->place.country, "DE", "AT");
	write_rules(f->rules, "Second");
	await_value(f, f->agent.browser, "First", "Second");
	visitor_facts_close(sharing);
	f->facts = own;
	ask(f);
	assert_string_equal(f->place.country, "AT");
}

TEST_CASE(reports_which_file_cannot_be_loaded)
{
	const struct fixture *f = *state;
	struct visitor_facts *facts = NULL;
	struct visitor_facts_config config = { .geoip_db = f->rules,
		                               .ua_regexes = f->rules,
		                               .user_agent_cache = 1 };
	assert_int_equal(visitor_facts_open(&config, &facts), ERR_INVALID);
	config.geoip_db = f->databases->networks;
	assert_int_equal(visitor_facts_open(&config, &facts), ERR_INVALID);
	config.geoip_db = "";
	config.ua_regexes = "/does/not/exist";
	assert_int_equal(visitor_facts_open(&config, &facts), ERR_NOT_FOUND);
	assert_null(facts);
}

TEST_CASE(knows_whether_it_has_places)
{
	struct fixture *f = *state;
	const struct visitor_facts_config config = {
		.geoip_db = "", .ua_regexes = f->rules, .user_agent_cache = 1, .check_ms = 60000
	};
	struct visitor_facts *none = NULL;
	assert_true(visitor_facts_has_places(f->facts));
	assert_int_equal(visitor_facts_open(&config, &none), OK);
	assert_false(visitor_facts_has_places(none));
	visitor_facts_place(none, "203.0.113.0/24", &f->place);
	assert_string_equal(f->place.country, "");
	visitor_facts_close(none);
}

/* More agents and networks than the caches hold, so that each thread also evicts. */
#define THREADS 4
#define ROUNDS 20000

/* NULL: all answers were right. */
static void *ask_of_many(void *ctx)
{
	struct visitor_facts *facts = ctx;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct geoip_place place;
		struct user_agent agent;
		char text[32];
		snprintf(text, sizeof(text), "%s/%u", i % 2 ? "Agent" : "curl", i % 37);
		visitor_facts_agent(facts, text, &agent);
		visitor_facts_place(facts, i % 3 ? "203.0.113.0/24" : "198.51.100.0/24", &place);
		if (strcmp(agent.browser, i % 2 ? "First" : "Other") != 0 ||
		    strcmp(place.country, i % 3 ? "DE" : "") != 0)
			return facts;
	}
	return NULL;
}

TEST_CASE(answers_several_threads_at_once)
{
	struct fixture *f = *state;
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_of_many, f->facts), 0);
	for (size_t i = 0; i < THREADS; i++) {
		void *problem = NULL;
		pthread_join(threads[i], &problem);
		assert_null(problem);
	}
}

TEST_MAIN(.group_set_up = make_databases, .group_tear_down = remove_databases, .set_up = set_up,
          .tear_down = tear_down)
