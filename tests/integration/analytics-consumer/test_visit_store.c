/* The guarantees of a batch's transaction. Uses PostgreSQL only, no topics. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "tests/integration/analytics-consumer/partition_owner.h"
#include "tests/support/test.h"

static int64_t ask(struct consumer_fixture *fixture, const char *sql)
{
	return test_database_ask(fixture->database, sql);
}

#define OFFSET(column, partition)                                                                  \
	"SELECT " column                                                                           \
	" FROM consumer_offsets WHERE topic = 'redirects' AND partition = " #partition

TEST_CASE(stores_visits_sums_and_offsets_together)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add_clicks(&owner, 0, 0, 100);
	partition_owner_add_clicks(&owner, 1, 0, 50);
	assert_int_equal(partition_owner_store(&owner), OK);
	consumer_fixture_assert_ledger(fixture, 150);
	assert_int_equal(ask(fixture, OFFSET("next_offset", 0)), 100);
	assert_int_equal(ask(fixture, OFFSET("next_offset", 1)), 50);
	assert_int_equal(ask(fixture, "SELECT count(*) FROM consumer_offsets "
	                              "WHERE as_of BETWEEN now() - interval '1 minute' AND now()"),
	                 2);
	assert_int_equal(ask(fixture,
	                     "SELECT sum(humans)::bigint FROM rollup_hour_entries "
	                     "WHERE dimension = 'referrer_host' AND value = 'news.example.com'"),
	                 150);
	partition_owner_close(&owner);
}

TEST_CASE(marks_everything_before_the_first_record_as_published)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add_clicks(&owner, 0, 57, 3);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(ask(fixture, OFFSET("next_offset", 0)), 60);
	assert_int_equal(ask(fixture, OFFSET("published_offset", 0)), 57);
	partition_owner_close(&owner);
}

/* Otherwise as_of could be reported before the partition was looked at. */
TEST_CASE(has_a_row_for_each_assigned_partition)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	assert_int_equal(
		ask(fixture,
	            "SELECT count(*) FROM consumer_offsets WHERE next_offset = 0 AND as_of IS NULL"),
		2);
	partition_owner_close(&owner);
}

TEST_CASE(marks_only_published_visits_as_published)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add_clicks(&owner, 0, 0, 10);
	assert_int_equal(partition_owner_store(&owner), OK);
	partition_owner_close(&owner);
	/*
	 * The next owner publishes again from 0. It has reached 7 when new clicks follow in the
	 * same batch.
	 */
	partition_owner_open(&owner, fixture, 10);
	partition_owner_publish_from(&owner, 7, 0);
	partition_owner_add_clicks(&owner, 0, 7, 6);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(ask(fixture, OFFSET("next_offset", 0)), 13);
	assert_int_equal(ask(fixture, OFFSET("published_offset", 0)), 7);
	partition_owner_begin_batch(&owner);
	partition_owner_add_clicks(&owner, 0, 13, 1);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(ask(fixture, OFFSET("published_offset", 0)), 13);
	partition_owner_close(&owner);
}

TEST_CASE(drops_events_that_are_already_counted)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event first = consumer_fixture_click(1, 1);
	struct redirect_event second = consumer_fixture_click(1, 2);
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add(&owner, 0, 0, &first);
	partition_owner_add(&owner, 0, 1, &first);
	partition_owner_add(&owner, 1, 0, &first);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(batch_sum(&owner.batch).duplicates, 2);
	consumer_fixture_assert_ledger(fixture, 1);
	partition_owner_begin_batch(&owner);
	partition_owner_add(&owner, 0, 2, &first);
	partition_owner_add(&owner, 0, 3, &second);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(batch_sum(&owner.batch).duplicates, 1);
	assert_int_equal(batch_sum(&owner.batch).humans, 1);
	consumer_fixture_assert_ledger(fixture, 2);
	assert_int_equal(ask(fixture, OFFSET("next_offset", 0)), 4);
	partition_owner_close(&owner);
}

TEST_CASE(stores_a_batch_that_has_only_duplicates)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event click = consumer_fixture_click(1, 1);
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add(&owner, 0, 0, &click);
	assert_int_equal(partition_owner_store(&owner), OK);
	for (int i = 1; i < 4; i++) {
		partition_owner_begin_batch(&owner);
		partition_owner_add(&owner, 0, i, &click);
		assert_int_equal(partition_owner_store(&owner), OK);
	}
	consumer_fixture_assert_ledger(fixture, 1);
	assert_int_equal(ask(fixture, OFFSET("next_offset", 0)), 4);
	partition_owner_close(&owner);
}

TEST_CASE(counts_a_visitor_once_per_link_and_day)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	int64_t offset = 0;
	for (int day = 0; day < 2; day++) {
		for (int64_t link = 1; link <= 2; link++) {
			for (int again = 0; again < 3; again++) {
				struct redirect_event click = consumer_fixture_click(link, 7);
				click.occurred_at_us -= day * CLOCK_US_PER_DAY;
				partition_owner_add(&owner, 0, offset++, &click);
			}
		}
		assert_int_equal(partition_owner_store(&owner), OK);
		partition_owner_begin_batch(&owner);
	}
	consumer_fixture_assert_ledger(fixture, 12);
	assert_int_equal(
		ask(fixture,
	            "SELECT sum(unique_visitors)::bigint FROM link_statistics WHERE link_id > 0"),
		4);
	assert_int_equal(
		ask(fixture, "SELECT unique_visitors FROM link_statistics WHERE link_id = 0"), 4);
	assert_int_equal(ask(fixture, "SELECT count(*) FROM visit_log WHERE is_unique"), 4);
	partition_owner_close(&owner);
}

#define UNIQUES "SELECT unique_visitors FROM link_statistics WHERE link_id = 1"

/* Stores a batch with one click on link 1. */
static void store_click_of(struct partition_owner *owner, int64_t offset, uint32_t visitor)
{
	struct redirect_event click = consumer_fixture_click(1, visitor);
	partition_owner_add(owner, 0, offset, &click);
	assert_int_equal(partition_owner_store(owner), OK);
	partition_owner_begin_batch(owner);
}

TEST_CASE(recognizes_the_visitors_of_the_previous_owner)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner previous, owner;
	partition_owner_open(&previous, fixture, 0);
	store_click_of(&previous, 0, 7);
	partition_owner_close(&previous);
	partition_owner_open(&owner, fixture, 1);
	store_click_of(&owner, 1, 7);
	store_click_of(&owner, 2, 8);
	store_click_of(&owner, 3, 7);
	store_click_of(&owner, 4, 8);
	consumer_fixture_assert_ledger(fixture, 5);
	assert_int_equal(ask(fixture, UNIQUES), 2);
	partition_owner_close(&owner);
}

/*
 * After many batches without a known visitor, unknown visitors are taken as new. The index corrects
 * it.
 */
TEST_CASE(counts_a_visitor_once_after_look_ups_have_stopped)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	int64_t offset = 0;
	partition_owner_open(&owner, fixture, 0);
	for (uint32_t visitor = 0; visitor < 40; visitor++)
		store_click_of(&owner, offset++, visitor);
	visit_store_invalidate(owner.store);
	for (uint32_t visitor = 100; visitor < 140; visitor++)
		store_click_of(&owner, offset++, visitor);
	int before = backend_fixture_logged(fixture->backend, "known_event_or_visitor_found");
	store_click_of(&owner, offset++, 5);
	assert_int_equal(backend_fixture_logged(fixture->backend, "known_event_or_visitor_found"),
	                 before + 1);
	consumer_fixture_assert_ledger(fixture, 81);
	assert_int_equal(ask(fixture, UNIQUES), 80);
	partition_owner_close(&owner);
}

TEST_CASE(counts_a_duplicate_by_a_known_visitor_neither_twice_nor_as_unique)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event first = consumer_fixture_click(1, 7);
	struct redirect_event again = consumer_fixture_click(1, 7);
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add(&owner, 0, 0, &first);
	assert_int_equal(partition_owner_store(&owner), OK);
	partition_owner_close(&owner);
	partition_owner_open(&owner, fixture, 1);
	partition_owner_add(&owner, 0, 1, &again);
	partition_owner_add(&owner, 0, 2, &first);
	partition_owner_add(&owner, 0, 3, &again);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(batch_sum(&owner.batch).duplicates, 2);
	consumer_fixture_assert_ledger(fixture, 2);
	assert_int_equal(ask(fixture, UNIQUES), 1);
	partition_owner_close(&owner);
}

TEST_CASE(counts_bots_separately_and_never_as_unique_visitors)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event bot = consumer_fixture_click(1, 3);
	struct redirect_event human = consumer_fixture_click(1, 1);
	struct redirect_event anonymous = consumer_fixture_click(1, 2);
	snprintf(bot.user_agent, sizeof(bot.user_agent), "curl/7.88.1");
	anonymous.has_visitor_hash = false;
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add(&owner, 0, 0, &bot);
	partition_owner_add(&owner, 0, 1, &human);
	partition_owner_add(&owner, 0, 2, &anonymous);
	assert_int_equal(partition_owner_store(&owner), OK);
	consumer_fixture_assert_ledger(fixture, 3);
	assert_int_equal(ask(fixture, "SELECT bot_count FROM link_statistics WHERE link_id = 1"),
	                 1);
	assert_int_equal(
		ask(fixture, "SELECT unique_visitors FROM link_statistics WHERE link_id = 1"), 1);
	assert_int_equal(
		ask(fixture,
	            "SELECT count(*) FROM visit_log WHERE is_bot AND bot_reason = 'http_library'"),
		1);
	assert_int_equal(
		ask(fixture, "SELECT count(*) FROM visit_log WHERE length(visitor_hash) = 16"), 2);
	partition_owner_close(&owner);
}

TEST_CASE(keeps_clicks_of_days_without_a_partition)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event old = consumer_fixture_click(1, 1);
	old.occurred_at_us = 1;
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add(&owner, 0, 0, &old);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(
		ask(fixture, "SELECT count(*) FROM visit_log_default WHERE day = '1970-01-01'"), 1);
	consumer_fixture_assert_ledger(fixture, 1);
	partition_owner_close(&owner);
}

static void fill_with(char *text, size_t size, const char *pattern)
{
	size_t len = strlen(pattern);
	text[0] = '\0';
	for (size_t used = 0; used + len < size; used += len)
		memcpy(text + used, pattern, len + 1);
}

/*
 * Every valid event must be storable: a value that PostgreSQL refuses would block its partition for
 * ever.
 */
TEST_CASE(stores_every_extreme_value_that_decodes)
{
	struct consumer_fixture *fixture = *state;
	static const char *const patterns[] = { "\xf0\x9f\x98\x80",
		                                "\\",
		                                "\"",
		                                "'",
		                                "{}",
		                                ",",
		                                "\t\n\r",
		                                "\x01",
		                                "\x7f",
		                                "\xef\xbf\xbf",
		                                "%00",
		                                "utm_source=\xf4\x8f\xbf\xbf&",
		                                "https://\xc3\xa4" };
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	int64_t offset = 0;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct redirect_event click = consumer_fixture_click(INT64_MAX, UINT32_MAX);
		click.occurred_at_us = INT64_C(253402300799999999) - (int64_t)i;
		click.latency_us = INT32_MAX;
		click.status = 599;
		fill_with(click.user_agent, sizeof(click.user_agent), patterns[i]);
		fill_with(click.referrer, sizeof(click.referrer), patterns[i]);
		fill_with(click.query, sizeof(click.query), patterns[i]);
		fill_with(click.accept_language, sizeof(click.accept_language), patterns[i]);
		fill_with(click.region, sizeof(click.region), patterns[i]);
		fill_with(click.client_network, sizeof(click.client_network), patterns[i]);
		partition_owner_add(&owner, 0, offset++, &click);
	}
	assert_int_equal(owner.batch.count, offset);
	assert_int_equal(partition_owner_store(&owner), OK);
	consumer_fixture_assert_ledger(fixture, offset);
	partition_owner_close(&owner);
}

TEST_CASE(returns_already_counted_visits_as_they_were_stored)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event unique = consumer_fixture_click(1, 1);
	struct redirect_event again = consumer_fixture_click(1, 1);
	struct redirect_event fresh = consumer_fixture_click(1, 1);
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add(&owner, 0, 0, &unique);
	partition_owner_add(&owner, 0, 1, &again);
	assert_int_equal(partition_owner_store(&owner), OK);
	partition_owner_begin_batch(&owner);
	/* The rules have changed since. The stored facts are kept. */
	test_database_run(
		fixture->database,
		"UPDATE visit_log SET country = 'DE', region = 'DE-BE', browser = 'As stored', "
		"browser_version = '1.2', os_version = '3.4', referrer_source = 'Then'");
	partition_owner_publish_from(&owner, 0, 0);
	partition_owner_add(&owner, 0, 1, &again);
	partition_owner_add(&owner, 0, 0, &unique);
	partition_owner_add(&owner, 0, 2, &fresh);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(owner.batch.visits[0].disposition, VISIT_ALREADY_COUNTED);
	assert_string_equal(owner.batch.visits[0].event.browser, "As stored");
	assert_string_equal(owner.batch.visits[0].event.browser_version, "1.2");
	assert_string_equal(owner.batch.visits[0].event.os_version, "3.4");
	assert_string_equal(owner.batch.visits[0].event.country, "DE");
	assert_string_equal(owner.batch.visits[0].event.region, "DE-BE");
	assert_string_equal(owner.batch.visits[0].event.referrer_source, "Then");
	assert_false(owner.batch.visits[0].event.is_unique);
	assert_true(owner.batch.visits[1].event.is_unique);
	assert_memory_equal(owner.batch.visits[1].event.event_id, unique.event_id,
	                    sizeof(unique.event_id));
	assert_string_equal(owner.batch.visits[2].event.browser, "Chrome");
	assert_int_equal(owner.batch.visits[2].disposition, VISIT_NEW);
	assert_int_equal(consumer_fixture_counted(fixture), 3);
	assert_int_equal(ask(fixture, OFFSET("next_offset", 0)), 3);
	partition_owner_close(&owner);
}

TEST_CASE(stores_each_fact_in_its_column)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event click = consumer_fixture_click(1, 1);
	snprintf(
		click.user_agent, sizeof(click.user_agent),
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		"Version/17.5 Mobile/15E148 Safari/604.1");
	snprintf(click.referrer, sizeof(click.referrer), "https://l.facebook.com/");
	snprintf(click.region, sizeof(click.region), "eu-1");
	partition_owner_open(&owner, fixture, 0);
	partition_owner_add(&owner, 0, 0, &click);
	snprintf(owner.batch.visits[0].event.region, sizeof(owner.batch.visits[0].event.region),
	         "DE-BY");
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(
		ask(fixture,
	            "SELECT count(*) FROM visit_log WHERE browser = 'Mobile Safari' AND os = 'iOS' "
	            "AND browser_version = '17.5' AND os_version = '17.6' AND device = 'mobile' "
	            "AND referrer_host = 'l.facebook.com' AND referrer_source = 'Facebook' "
	            "AND served_from = 'eu-1' AND region = 'DE-BY' AND country = ''"),
		1);
	partition_owner_close(&owner);
}

TEST_CASE(skips_already_counted_visits_whose_day_was_dropped)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	struct redirect_event click = consumer_fixture_click(1, 1);
	partition_owner_open(&owner, fixture, 10);
	partition_owner_publish_from(&owner, 5, 0);
	partition_owner_add(&owner, 0, 5, &click);
	assert_int_equal(partition_owner_store(&owner), OK);
	assert_int_equal(owner.batch.visits[0].disposition, VISIT_DUPLICATE);
	assert_int_equal(consumer_fixture_counted(fixture), 0);
	partition_owner_close(&owner);
}

/* Compares random latencies in random batches with PostgreSQL's own arithmetic over the log. */
TEST_CASE(aggregates_latencies_as_exactly_as_a_single_pass)
{
	struct consumer_fixture *fixture = *state;
	struct partition_owner owner;
	partition_owner_open(&owner, fixture, 0);
	int64_t offset = 0;
	for (int batch = 0; batch < 20; batch++) {
		for (uint32_t i = 0, count = 1 + entropy_below(200); i < count; i++) {
			struct redirect_event click = consumer_fixture_click(1 + i % 3, i);
			click.latency_us = 100000000 + entropy_below(1000);
			partition_owner_add(&owner, 0, offset++, &click);
		}
		assert_int_equal(partition_owner_store(&owner), OK);
		partition_owner_begin_batch(&owner);
	}
	consumer_fixture_assert_ledger(fixture, offset);
	assert_int_equal(
		ask(fixture,
	            "SELECT count(*) FROM link_statistics s JOIN (SELECT link_id, "
	            "avg(latency_us::numeric) / 1000 AS mean, "
	            "var_samp(latency_us::numeric / 1000) * (count(*) - 1) AS m2 "
	            "FROM visit_log GROUP BY link_id) log USING (link_id) "
	            "WHERE abs(s.latency_mean_ms - mean) > 1e-6 OR abs(s.latency_m2 / m2 - 1) > 1e-6"),
		0);
	partition_owner_close(&owner);
}

TEST_MAIN(.group_set_up = consumer_fixture_open, .group_tear_down = consumer_fixture_close,
          .set_up = consumer_fixture_reset)
