#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "tests/integration/net/net_fixture.h"
#include "tests/integration/redirector/world.h"

#define FOREVER_MS 3600000
#define CHECK_MS 100

static char folder[TEST_FOLDER_SIZE];
static struct tcp_proxy *proxy; /* before PostgreSQL, in the test that needs it */

static int reset(void **state)
{
	struct world *world = *state;
	if (world_reset(state) != 0)
		return -1;
	test_folder_make(folder);
	test_database_run(world->database, "DELETE FROM links");
	test_database_run(world->database, "DELETE FROM blocked_hosts");
	world->config.hosts_check_ms = CHECK_MS;
	world->config.memory_ttl_ms = FOREVER_MS;
	return 0;
}

static int stop(void **state)
{
	int rc = world_stop(state);
	if (proxy)
		tcp_proxy_free(proxy);
	proxy = NULL;
	test_folder_remove(folder);
	return rc;
}

/* Written beside and renamed over, as editors and Kubernetes do it. */
static void write_list(char *path, size_t size, const char *name, const char *text)
{
	char draft[TEST_FOLDER_SIZE + 16];
	snprintf(path, size, "%s/%s", folder, name);
	snprintf(draft, sizeof(draft), "%s/draft", folder);
	FILE *file = fopen(draft, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(draft, path), 0);
}

static void await_status(struct world *world, const char *name, unsigned status)
{
	int64_t began_ms = http_fixture_now_ms();
	while (world_follow(world, name, "") != status) {
		if (http_fixture_now_ms() - began_ms > WORLD_DEADLINE_MS)
			fail_msg("%s goes on being answered %u, not %u", name, world->answer.status, status);
		usleep(2000); /* between two looks */
	}
}

/* A link whose host (example.com) nothing forbids, and which memory knows from here on. */
static void start_with_a_known_link(struct world *world, const char *name)
{
	world_add_link(world, name);
	world_start(world);
	assert_int_equal(world_follow(world, name, ""), 302);
}

static void tells_programs_and_people_that_a_link_is_blocked_and_counts_no_visit(void **state)
{
	struct world *world = *state;
	start_with_a_known_link(world, "gone");
	test_database_run(world->database, "INSERT INTO blocked_hosts (host) VALUES ('example.com')");
	await_status(world, "gone", 451);
	double counted = world_metric(world, "waymark_events_accepted_total");

	assert_int_equal(world_follow(world, "gone", "Accept: application/json\r\n"), 451);
	world_assert_header(world, "Content-Type", "application/problem+json");
	world_assert_header(world, "Cache-Control", "no-store");
	world_assert_header(world, "Location", "");
	assert_null(strstr(world->answer.body, "example.com"));
	assert_int_equal(world_follow(world, "gone", "Accept: text/html\r\n"), 451);
	world_assert_header(world, "Content-Type", "text/html; charset=utf-8");
	assert_non_null(strstr(world->answer.body, "This link is blocked"));
	assert_int_equal(world_metric(world, "waymark_events_accepted_total"), (int)counted);
	assert_true(world_metric(world, "waymark_redirector_answers_total{status=\"451\"}") >= 2);
}

static void leads_again_when_the_host_is_free_again(void **state)
{
	struct world *world = *state;
	test_database_run(world->database, "INSERT INTO blocked_hosts (host) VALUES ('example.com')");
	world_add_link(world, "back");
	world_start(world);
	world_await_metric(world, "waymark_host_rules", 1);
	assert_int_equal(world_follow(world, "back", ""), 451);
	test_database_run(world->database, "DELETE FROM blocked_hosts");
	await_status(world, "back", 302);
}

static void blocks_where_an_expired_link_leads_as_well(void **state)
{
	struct world *world = *state;
	test_database_run(world->database, "INSERT INTO blocked_hosts (host) VALUES ('after.example')");
	world_add_link(world, "old");
	world_change_link(world, "old",
	                  "expires_at = now() - interval '1 minute', expired_url = 'https://www.after.example/'");
	world_add_link(world, "older");
	world_change_link(world, "older", "expires_at = now() - interval '1 minute'");
	world_start(world);
	world_await_metric(world, "waymark_host_rules", 1);
	assert_int_equal(world_follow(world, "old", ""), 451);
	assert_int_equal(world_follow(world, "older", ""), 410);
}

static void blocks_what_a_file_names_from_the_start_and_when_it_changes(void **state)
{
	struct world *world = *state;
	char *path = world->config.blocked_hosts_file;
	const size_t size = sizeof(world->config.blocked_hosts_file);
	write_list(path, size, "blocked", "example.com\n");
	world_add_link(world, "listed");
	world_start(world);
	assert_int_equal(world_follow(world, "listed", ""), 451);
	write_list(path, size, "blocked", "# nobody any more\nother.example\n");
	await_status(world, "listed", 302);
}

static void goes_on_with_the_last_list_when_a_file_is_broken_or_gone(void **state)
{
	struct world *world = *state;
	char *path = world->config.blocked_hosts_file;
	const size_t size = sizeof(world->config.blocked_hosts_file);
	write_list(path, size, "blocked", "example.com\n");
	world_add_link(world, "kept");
	world_start(world);
	assert_int_equal(unlink(path), 0);
	world_await_metric(world, "waymark_host_files_broken", 1);
	assert_int_equal(world_follow(world, "kept", ""), 451);
	write_list(path, size, "blocked", "other.example\n");
	await_status(world, "kept", 302);
	write_list(path, size, "blocked", "example.com\nhttps://example.com/\n");
	world_await_metric(world, "waymark_host_files_broken", 1);
	assert_int_equal(world_follow(world, "kept", ""), 302);
}

static void leads_nowhere_but_to_allowed_hosts_if_there_are_such(void **state)
{
	struct world *world = *state;
	char *path = world->config.allowed_hosts_file;
	const size_t size = sizeof(world->config.allowed_hosts_file);
	write_list(path, size, "allowed", ".example.org\n");
	world_add_link(world, "foreign");
	world_start(world);
	assert_int_equal(world_follow(world, "foreign", ""), 451);
	write_list(path, size, "allowed", ".example.org\n.example.com\n");
	await_status(world, "foreign", 302);
	/* An emptied file is a mistake, not a wish. */
	write_list(path, size, "allowed", "\n");
	world_await_metric(world, "waymark_host_files_broken", 1);
	assert_int_equal(world_follow(world, "foreign", ""), 302);
}

static void goes_on_with_the_last_list_while_postgresql_is_away(void **state)
{
	struct world *world = *state;
	test_database_run(world->database, "INSERT INTO blocked_hosts (host) VALUES ('example.com')");
	world_add_link(world, "away");
	proxy = net_fixture_proxy(world->config.pg_url, sizeof(world->config.pg_url));
	world_start(world);
	await_status(world, "away", 451);
	tcp_proxy_set(proxy, TCP_PROXY_REFUSE);
	test_database_run(world->database, "DELETE FROM blocked_hosts");
	world_await_metric(world, "waymark_blocked_hosts_age_seconds", 1);
	assert_int_equal(world_follow(world, "away", ""), 451);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	await_status(world, "away", 302);
}

static void does_not_start_with_a_file_that_it_cannot_use(void **state)
{
	struct world *world = *state;
	write_list(world->config.blocked_hosts_file, sizeof(world->config.blocked_hosts_file), "blocked", "a b\n");
	assert_int_equal(redirector_new(&world->config, world->clock, world->log, world->metrics, &world->redirector),
	                 ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, stop)
		TEST(tells_programs_and_people_that_a_link_is_blocked_and_counts_no_visit),
		TEST(leads_again_when_the_host_is_free_again),
		TEST(blocks_where_an_expired_link_leads_as_well),
		TEST(blocks_what_a_file_names_from_the_start_and_when_it_changes),
		TEST(goes_on_with_the_last_list_when_a_file_is_broken_or_gone),
		TEST(leads_nowhere_but_to_allowed_hosts_if_there_are_such),
		TEST(goes_on_with_the_last_list_while_postgresql_is_away),
		TEST(does_not_start_with_a_file_that_it_cannot_use),
	};
	return cmocka_run_group_tests(tests, world_open, world_close);
}
