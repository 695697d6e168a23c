#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "tests/integration/net/net_fixture.h"
#include "tests/integration/redirector/fixture.h"

#define FOREVER_MS 3600000
#define CHECK_MS 100

static char folder[TEST_FOLDER_SIZE];
static struct tcp_proxy *proxy; /* before PostgreSQL, in the test that needs it */

static int reset(void **state)
{
	struct fixture *f = *state;
	if (fixture_set_up(state) != 0)
		return -1;
	test_folder_make(folder);
	test_database_run(f->database, "DELETE FROM links");
	test_database_run(f->database, "DELETE FROM blocked_hosts");
	f->config.hosts_check_ms = CHECK_MS;
	f->config.memory_ttl_ms = FOREVER_MS;
	return 0;
}

static int stop(void **state)
{
	int rc = fixture_tear_down(state);
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

static void await_status(struct fixture *f, const char *name, unsigned status)
{
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_get_link(f, name, "") != status) {
		if (http_fixture_now_ms() - began_ms > FIXTURE_TIMEOUT_MS)
			fail_msg("%s goes on being answered %u, not %u", name, f->answer.status, status);
		usleep(2000); /* between two looks */
	}
}

/* A link whose host (example.com) nothing forbids, and which memory knows from here on. */
static void start_with_a_known_link(struct fixture *f, const char *name)
{
	fixture_add_link(f, name);
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, name, ""), 302);
}

static void tells_programs_and_people_that_a_link_is_blocked_and_counts_no_visit(void **state)
{
	struct fixture *f = *state;
	start_with_a_known_link(f, "gone");
	test_database_run(f->database, "INSERT INTO blocked_hosts (host) VALUES ('example.com')");
	await_status(f, "gone", 451);
	double counted = fixture_metric(f, "waymark_events_accepted_total");

	assert_int_equal(fixture_get_link(f, "gone", "Accept: application/json\r\n"), 451);
	fixture_assert_header(f, "Content-Type", "application/problem+json");
	fixture_assert_header(f, "Cache-Control", "no-store");
	fixture_assert_header(f, "Location", "");
	assert_null(strstr(f->answer.body, "example.com"));
	assert_int_equal(fixture_get_link(f, "gone", "Accept: text/html\r\n"), 451);
	fixture_assert_header(f, "Content-Type", "text/html; charset=utf-8");
	assert_non_null(strstr(f->answer.body, "This link is blocked"));
	assert_int_equal(fixture_metric(f, "waymark_events_accepted_total"), (int)counted);
	assert_true(fixture_metric(f, "waymark_redirector_answers_total{status=\"451\"}") >= 2);
}

static void leads_again_when_the_host_is_free_again(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->database, "INSERT INTO blocked_hosts (host) VALUES ('example.com')");
	fixture_add_link(f, "back");
	fixture_start(f);
	fixture_await_metric(f, "waymark_host_rules", 1);
	assert_int_equal(fixture_get_link(f, "back", ""), 451);
	test_database_run(f->database, "DELETE FROM blocked_hosts");
	await_status(f, "back", 302);
}

static void blocks_where_an_expired_link_leads_as_well(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->database, "INSERT INTO blocked_hosts (host) VALUES ('after.example')");
	fixture_add_link(f, "old");
	fixture_change_link(f, "old",
	                    "expires_at = now() - interval '1 minute', expired_url = 'https://www.after.example/'");
	fixture_add_link(f, "older");
	fixture_change_link(f, "older", "expires_at = now() - interval '1 minute'");
	fixture_start(f);
	fixture_await_metric(f, "waymark_host_rules", 1);
	assert_int_equal(fixture_get_link(f, "old", ""), 451);
	assert_int_equal(fixture_get_link(f, "older", ""), 410);
}

static void blocks_what_a_file_names_from_the_start_and_when_it_changes(void **state)
{
	struct fixture *f = *state;
	char *path = f->config.blocked_hosts_file;
	const size_t size = sizeof(f->config.blocked_hosts_file);
	write_list(path, size, "blocked", "example.com\n");
	fixture_add_link(f, "listed");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "listed", ""), 451);
	write_list(path, size, "blocked", "# nobody any more\nother.example\n");
	await_status(f, "listed", 302);
}

static void goes_on_with_the_last_list_when_a_file_is_broken_or_gone(void **state)
{
	struct fixture *f = *state;
	char *path = f->config.blocked_hosts_file;
	const size_t size = sizeof(f->config.blocked_hosts_file);
	write_list(path, size, "blocked", "example.com\n");
	fixture_add_link(f, "kept");
	fixture_start(f);
	assert_int_equal(unlink(path), 0);
	fixture_await_metric(f, "waymark_host_files_broken", 1);
	assert_int_equal(fixture_get_link(f, "kept", ""), 451);
	write_list(path, size, "blocked", "other.example\n");
	await_status(f, "kept", 302);
	write_list(path, size, "blocked", "example.com\nhttps://example.com/\n");
	fixture_await_metric(f, "waymark_host_files_broken", 1);
	assert_int_equal(fixture_get_link(f, "kept", ""), 302);
}

static void leads_nowhere_but_to_allowed_hosts_if_there_are_such(void **state)
{
	struct fixture *f = *state;
	char *path = f->config.allowed_hosts_file;
	const size_t size = sizeof(f->config.allowed_hosts_file);
	write_list(path, size, "allowed", ".example.org\n");
	fixture_add_link(f, "foreign");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "foreign", ""), 451);
	write_list(path, size, "allowed", ".example.org\n.example.com\n");
	await_status(f, "foreign", 302);
	/* An emptied file is a mistake, not a wish. */
	write_list(path, size, "allowed", "\n");
	fixture_await_metric(f, "waymark_host_files_broken", 1);
	assert_int_equal(fixture_get_link(f, "foreign", ""), 302);
}

static void goes_on_with_the_last_list_while_postgresql_is_away(void **state)
{
	struct fixture *f = *state;
	test_database_run(f->database, "INSERT INTO blocked_hosts (host) VALUES ('example.com')");
	fixture_add_link(f, "away");
	proxy = net_fixture_proxy(f->config.pg_url, sizeof(f->config.pg_url));
	fixture_start(f);
	await_status(f, "away", 451);
	tcp_proxy_set(proxy, TCP_PROXY_REFUSE);
	test_database_run(f->database, "DELETE FROM blocked_hosts");
	fixture_await_metric(f, "waymark_blocked_hosts_age_seconds", 1);
	assert_int_equal(fixture_get_link(f, "away", ""), 451);
	tcp_proxy_set(proxy, TCP_PROXY_FORWARD);
	await_status(f, "away", 302);
}

static void does_not_start_with_a_file_that_it_cannot_use(void **state)
{
	struct fixture *f = *state;
	write_list(f->config.blocked_hosts_file, sizeof(f->config.blocked_hosts_file), "blocked", "a b\n");
	assert_int_equal(redirector_new(&f->config, f->clock, f->log, f->metrics, &f->redirector), ERR_INVALID);
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
	return cmocka_run_group_tests(tests, fixture_group_set_up, fixture_group_tear_down);
}
