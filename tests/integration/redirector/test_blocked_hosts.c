#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/integration/backend/backend_fixture.h"
#include "tests/integration/redirector/fixture.h"
#include "tests/support/test.h"

#define FOREVER_MS 3600000
#define CHECK_MS 100

static char folder[TEST_FOLDER_SIZE];
static struct tcp_proxy *proxy; /* in front of PostgreSQL, in the test that needs it */

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

/* Writes a draft and renames it, like editors and Kubernetes. */
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
			fail_msg("%s is still answered %u, not %u", name, f->answer.status, status);
		test_pause();
	}
}

/* Adds a link to example.com, which is not blocked yet, and loads it into memory. */
static void start_with_cached_link(struct fixture *f, const char *name)
{
	fixture_add_link(f, name);
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, name, ""), 302);
}

TEST_CASE(a_blocked_link_is_451_and_makes_no_event)
{
	struct fixture *f = *state;
	start_with_cached_link(f, "gone");
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
	assert_true(fixture_metric(f, "waymark_redirector_responses_total{status=\"451\"}") >= 2);
}

TEST_CASE(redirects_again_when_the_host_is_unblocked)
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

TEST_CASE(blocks_the_expired_url_too)
{
	struct fixture *f = *state;
	test_database_run(f->database, "INSERT INTO blocked_hosts (host) VALUES ('after.example')");
	fixture_add_link(f, "old");
	fixture_change_link(
		f, "old",
		"expires_at = now() - interval '1 minute', expired_url = 'https://www.after.example/'");
	fixture_add_link(f, "older");
	fixture_change_link(f, "older", "expires_at = now() - interval '1 minute'");
	fixture_start(f);
	fixture_await_metric(f, "waymark_host_rules", 1);
	assert_int_equal(fixture_get_link(f, "old", ""), 451);
	assert_int_equal(fixture_get_link(f, "older", ""), 410);
}

TEST_CASE(blocks_the_hosts_in_a_file_and_reloads_it)
{
	struct fixture *f = *state;
	char *path = f->config.blocked_hosts_file;
	const size_t size = sizeof(f->config.blocked_hosts_file);
	write_list(path, size, "blocked", "example.com\n");
	fixture_add_link(f, "listed");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "listed", ""), 451);
	write_list(path, size, "blocked", "# example.com is unblocked\nother.example\n");
	await_status(f, "listed", 302);
}

TEST_CASE(keeps_the_last_list_when_a_file_is_invalid_or_missing)
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

TEST_CASE(redirects_only_to_allowed_hosts_if_there_is_a_list)
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
	/* An empty list is rejected as a mistake. */
	write_list(path, size, "allowed", "\n");
	fixture_await_metric(f, "waymark_host_files_broken", 1);
	assert_int_equal(fixture_get_link(f, "foreign", ""), 302);
}

TEST_CASE(keeps_the_last_list_while_postgresql_is_down)
{
	struct fixture *f = *state;
	test_database_run(f->database, "INSERT INTO blocked_hosts (host) VALUES ('example.com')");
	fixture_add_link(f, "away");
	proxy = backend_fixture_proxy(f->config.pg_url, sizeof(f->config.pg_url));
	fixture_start(f);
	await_status(f, "away", 451);
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	test_database_run(f->database, "DELETE FROM blocked_hosts");
	fixture_await_metric(f, "waymark_blocked_hosts_age_seconds", 1);
	assert_int_equal(fixture_get_link(f, "away", ""), 451);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	await_status(f, "away", 302);
}

TEST_CASE(does_not_start_with_an_invalid_file)
{
	struct fixture *f = *state;
	write_list(f->config.blocked_hosts_file, sizeof(f->config.blocked_hosts_file), "blocked",
	           "a b\n");
	assert_int_equal(
		redirector_new(&f->config, &f->clock.clock, f->log, f->metrics, &f->redirector),
		ERR_INVALID);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = reset, .tear_down = stop)
