/* What a batch's transaction promises, batch by batch: no topics, only PostgreSQL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "tests/integration/analytics-consumer/owner.h"

static int64_t ask(struct world *world, const char *sql)
{
	return test_database_ask(world->database, sql);
}

#define OFFSET(column, partition)                                                                                      \
	"SELECT " column " FROM consumer_offsets WHERE topic = 'redirects' AND partition = " #partition

static void stores_visits_sums_and_offsets_together(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 100);
	owner_take_clicks(&owner, 1, 0, 50);
	assert_int_equal(owner_store(&owner), OK);
	world_assert_books(world, 150);
	assert_int_equal(ask(world, OFFSET("next_offset", 0)), 100);
	assert_int_equal(ask(world, OFFSET("next_offset", 1)), 50);
	assert_int_equal(ask(world, "SELECT count(*) FROM consumer_offsets "
	                            "WHERE as_of BETWEEN now() - interval '1 minute' AND now()"),
	                 2);
	assert_int_equal(ask(world, "SELECT sum(humans)::bigint FROM visit_rollup_hour "
	                            "WHERE dimension = 'referrer' AND value = 'news.example.com'"),
	                 150);
	owner_close(&owner);
}

static void has_nothing_to_publish_before_the_first_record_there_was(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 57, 3);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(ask(world, OFFSET("next_offset", 0)), 60);
	assert_int_equal(ask(world, OFFSET("published_offset", 0)), 57);
	owner_close(&owner);
}

/* So that nobody says how fresh the counts are before the first look at it. */
static void has_a_row_for_each_partition_that_somebody_got(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	assert_int_equal(ask(world, "SELECT count(*) FROM consumer_offsets WHERE next_offset = 0 AND as_of IS NULL"),
	                 2);
	owner_close(&owner);
}

static void goes_on_over_gaps_between_offsets(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	assert_int_equal(owner_store(&owner), OK);
	owner_go_on(&owner);
	owner_take_clicks(&owner, 0, 500, 10);
	assert_int_equal(owner_store(&owner), OK);
	world_assert_books(world, 20);
	assert_int_equal(ask(world, OFFSET("next_offset", 0)), 510);
	assert_int_equal(ask(world, OFFSET("published_offset", 0)), 10);
	owner_close(&owner);
}

static void calls_published_only_what_was_handed_over(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	owner_take_clicks(&owner, 0, 0, 10);
	assert_int_equal(owner_store(&owner), OK);
	owner_close(&owner);
	/* The next owner publishes again from 0, and has come to 7 when new clicks follow in the same batch. */
	owner_open(&owner, world, 10);
	owner.offsets.partitions[0].published = 7;
	offsets_begin_batch(&owner.offsets);
	owner_take_clicks(&owner, 0, 7, 6);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(ask(world, OFFSET("next_offset", 0)), 13);
	assert_int_equal(ask(world, OFFSET("published_offset", 0)), 7);
	owner_go_on(&owner);
	owner_take_clicks(&owner, 0, 13, 1);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(ask(world, OFFSET("published_offset", 0)), 13);
	owner_close(&owner);
}

static void drops_events_that_were_counted(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event first = world_click(1, 1);
	struct redirect_event second = world_click(1, 2);
	owner_open(&owner, world, 0);
	owner_take(&owner, 0, 0, &first);
	owner_take(&owner, 0, 1, &first);
	owner_take(&owner, 1, 0, &first);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(batch_sum(&owner.batch).repeats, 2);
	world_assert_books(world, 1);
	owner_go_on(&owner);
	owner_take(&owner, 0, 2, &first);
	owner_take(&owner, 0, 3, &second);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(batch_sum(&owner.batch).repeats, 1);
	assert_int_equal(batch_sum(&owner.batch).humans, 1);
	world_assert_books(world, 2);
	assert_int_equal(ask(world, OFFSET("next_offset", 0)), 4);
	owner_close(&owner);
}

static void stores_a_batch_of_nothing_but_repeats(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event click = world_click(1, 1);
	owner_open(&owner, world, 0);
	owner_take(&owner, 0, 0, &click);
	assert_int_equal(owner_store(&owner), OK);
	for (int i = 1; i < 4; i++) {
		owner_go_on(&owner);
		owner_take(&owner, 0, i, &click);
		assert_int_equal(owner_store(&owner), OK);
	}
	world_assert_books(world, 1);
	assert_int_equal(ask(world, OFFSET("next_offset", 0)), 4);
	owner_close(&owner);
}

static void counts_a_visitor_once_per_link_and_day(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	int64_t offset = 0;
	for (int day = 0; day < 2; day++) {
		for (int64_t link = 1; link <= 2; link++) {
			for (int again = 0; again < 3; again++) {
				struct redirect_event click = world_click(link, 7);
				click.occurred_at_us -= day * CLOCK_US_PER_DAY;
				owner_take(&owner, 0, offset++, &click);
			}
		}
		assert_int_equal(owner_store(&owner), OK);
		owner_go_on(&owner);
	}
	world_assert_books(world, 12);
	assert_int_equal(ask(world, "SELECT sum(unique_visitors)::bigint FROM link_statistics WHERE link_id > 0"), 4);
	assert_int_equal(ask(world, "SELECT unique_visitors FROM link_statistics WHERE link_id = 0"), 4);
	assert_int_equal(ask(world, "SELECT count(*) FROM visit_log WHERE is_unique"), 4);
	owner_close(&owner);
}

#define UNIQUES "SELECT unique_visitors FROM link_statistics WHERE link_id = 1"

/* A batch of one visitor's click on link 1. */
static void store_click_of(struct owner *owner, int64_t offset, uint32_t visitor)
{
	struct redirect_event click = world_click(1, visitor);
	owner_take(owner, 0, offset, &click);
	assert_int_equal(owner_store(owner), OK);
	owner_go_on(owner);
}

static void knows_the_visitors_of_the_owner_before(void **state)
{
	struct world *world = *state;
	struct owner before, owner;
	owner_open(&before, world, 0);
	store_click_of(&before, 0, 7);
	owner_close(&before);
	owner_open(&owner, world, 1);
	store_click_of(&owner, 1, 7);
	store_click_of(&owner, 2, 8);
	store_click_of(&owner, 3, 7);
	store_click_of(&owner, 4, 8);
	world_assert_books(world, 5);
	assert_int_equal(ask(world, UNIQUES), 2);
	owner_close(&owner);
}

/* After so long without any known visitor, unknown ones are taken for new: the index knows better. */
static void counts_a_visitor_once_even_when_it_has_stopped_looking(void **state)
{
	struct world *world = *state;
	struct owner owner;
	int64_t offset = 0;
	owner_open(&owner, world, 0);
	for (uint32_t visitor = 0; visitor < 40; visitor++)
		store_click_of(&owner, offset++, visitor);
	visit_store_invalidate(owner.store);
	for (uint32_t visitor = 100; visitor < 140; visitor++)
		store_click_of(&owner, offset++, visitor);
	assert_int_equal(net_fixture_logged(world->fixture, "known_visitor_found"), 0);
	store_click_of(&owner, offset++, 5);
	assert_int_equal(net_fixture_logged(world->fixture, "known_visitor_found"), 1);
	world_assert_books(world, 81);
	assert_int_equal(ask(world, UNIQUES), 80);
	owner_close(&owner);
}

static void counts_a_repeat_by_a_known_visitor_neither_twice_nor_as_new(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event first = world_click(1, 7);
	struct redirect_event again = world_click(1, 7);
	owner_open(&owner, world, 0);
	owner_take(&owner, 0, 0, &first);
	assert_int_equal(owner_store(&owner), OK);
	owner_close(&owner);
	owner_open(&owner, world, 1);
	owner_take(&owner, 0, 1, &again);
	owner_take(&owner, 0, 2, &first);
	owner_take(&owner, 0, 3, &again);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(batch_sum(&owner.batch).repeats, 2);
	world_assert_books(world, 2);
	assert_int_equal(ask(world, UNIQUES), 1);
	owner_close(&owner);
}

static void counts_bots_apart_and_never_as_visitors(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event bot = world_click(1, 1);
	struct redirect_event human = world_click(1, 1);
	struct redirect_event nobody = world_click(1, 2);
	snprintf(bot.user_agent, sizeof(bot.user_agent), "curl/7.88.1");
	nobody.has_visitor_hash = false;
	owner_open(&owner, world, 0);
	owner_take(&owner, 0, 0, &bot);
	owner_take(&owner, 0, 1, &human);
	owner_take(&owner, 0, 2, &nobody);
	assert_int_equal(owner_store(&owner), OK);
	world_assert_books(world, 3);
	assert_int_equal(ask(world, "SELECT bot_count FROM link_statistics WHERE link_id = 1"), 1);
	assert_int_equal(ask(world, "SELECT unique_visitors FROM link_statistics WHERE link_id = 1"), 1);
	assert_int_equal(ask(world, "SELECT count(*) FROM visit_log WHERE is_bot AND bot_reason = 'http_library'"), 1);
	owner_close(&owner);
}

static void keeps_clicks_of_days_without_a_partition(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event old = world_click(1, 1);
	old.occurred_at_us = 1;
	owner_open(&owner, world, 0);
	owner_take(&owner, 0, 0, &old);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(ask(world, "SELECT count(*) FROM visit_log_default WHERE day = '1970-01-01'"), 1);
	world_assert_books(world, 1);
	owner_close(&owner);
}

static void fill_with(char *text, size_t size, const char *pattern)
{
	size_t len = strlen(pattern);
	text[0] = '\0';
	for (size_t used = 0; used + len < size; used += len)
		memcpy(text + used, pattern, len + 1);
}

/* What decodes must be storable: a value that PostgreSQL refuses would stop its partition for ever. */
static void stores_every_extreme_that_decodes(void **state)
{
	struct world *world = *state;
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
	struct owner owner;
	owner_open(&owner, world, 0);
	int64_t offset = 0;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		struct redirect_event click = world_click(INT64_MAX, UINT32_MAX);
		click.occurred_at_us = INT64_C(253402300799999999) - (int64_t)i;
		click.latency_us = INT32_MAX;
		click.status = 599;
		fill_with(click.user_agent, sizeof(click.user_agent), patterns[i]);
		fill_with(click.referrer, sizeof(click.referrer), patterns[i]);
		fill_with(click.query, sizeof(click.query), patterns[i]);
		fill_with(click.accept_language, sizeof(click.accept_language), patterns[i]);
		fill_with(click.region, sizeof(click.region), patterns[i]);
		fill_with(click.client_network, sizeof(click.client_network), patterns[i]);
		owner_take(&owner, 0, offset++, &click);
	}
	assert_int_equal(owner.batch.count, offset);
	assert_int_equal(owner_store(&owner), OK);
	world_assert_books(world, offset);
	owner_close(&owner);
}

static void gives_counted_visits_back_as_they_were_stored(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event unique = world_click(1, 1);
	struct redirect_event again = world_click(1, 1);
	struct redirect_event fresh = world_click(1, 1);
	owner_open(&owner, world, 0);
	owner_take(&owner, 0, 0, &unique);
	owner_take(&owner, 0, 1, &again);
	assert_int_equal(owner_store(&owner), OK);
	owner_go_on(&owner);
	/* The rules have changed since: what was said first stays. */
	test_database_run(world->database,
	                  "UPDATE visit_log SET country = 'DE', region = 'DE-BE', browser = 'As stored', "
	                  "browser_version = '1.2', os_version = '3.4', referrer_source = 'Then'");
	owner_take(&owner, 0, 1, &again);
	owner_take(&owner, 0, 0, &unique);
	owner_take(&owner, 0, 2, &fresh);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(owner.batch.visits[0].disposition, VISIT_ALREADY_COUNTED);
	assert_string_equal(owner.batch.visits[0].event.browser, "As stored");
	assert_string_equal(owner.batch.visits[0].event.browser_version, "1.2");
	assert_string_equal(owner.batch.visits[0].event.os_version, "3.4");
	assert_string_equal(owner.batch.visits[0].event.country, "DE");
	assert_string_equal(owner.batch.visits[0].event.region, "DE-BE");
	assert_string_equal(owner.batch.visits[0].event.referrer_source, "Then");
	assert_false(owner.batch.visits[0].event.unique);
	assert_true(owner.batch.visits[1].event.unique);
	assert_memory_equal(owner.batch.visits[1].event.event_id, unique.event_id, sizeof(unique.event_id));
	assert_string_equal(owner.batch.visits[2].event.browser, "Chrome");
	assert_int_equal(owner.batch.visits[2].disposition, VISIT_NEW);
	assert_int_equal(world_counted(world), 3);
	assert_int_equal(ask(world, OFFSET("next_offset", 0)), 3);
	owner_close(&owner);
}

static void stores_each_fact_in_its_column(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event click = world_click(1, 1);
	snprintf(click.user_agent, sizeof(click.user_agent),
	         "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
	         "Version/17.5 Mobile/15E148 Safari/604.1");
	snprintf(click.referrer, sizeof(click.referrer), "https://l.facebook.com/");
	snprintf(click.region, sizeof(click.region), "eu-1");
	owner_open(&owner, world, 0);
	owner_take(&owner, 0, 0, &click);
	snprintf(owner.batch.visits[0].event.region, sizeof(owner.batch.visits[0].event.region), "DE-BY");
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(ask(world, "SELECT count(*) FROM visit_log WHERE browser = 'Mobile Safari' AND os = 'iOS' "
	                            "AND browser_version = '17.5' AND os_version = '17.6' AND device = 'mobile' "
	                            "AND referrer_host = 'l.facebook.com' AND referrer_source = 'Facebook' "
	                            "AND served_from = 'eu-1' AND region = 'DE-BY' AND country = ''"),
	                 1);
	owner_close(&owner);
}

static void forgets_counted_visits_whose_day_was_dropped(void **state)
{
	struct world *world = *state;
	struct owner owner;
	struct redirect_event click = world_click(1, 1);
	owner_open(&owner, world, 10);
	owner_take(&owner, 0, 5, &click);
	assert_int_equal(owner_store(&owner), OK);
	assert_int_equal(owner.batch.visits[0].disposition, VISIT_DUPLICATE);
	assert_int_equal(world_counted(world), 0);
	owner_close(&owner);
}

/* Thousands of random latencies in random batches against PostgreSQL's own arithmetic over the log. */
static void keeps_latencies_as_exact_as_one_pass(void **state)
{
	struct world *world = *state;
	struct owner owner;
	owner_open(&owner, world, 0);
	int64_t offset = 0;
	for (int batch = 0; batch < 20; batch++) {
		for (uint32_t i = 0, count = 1 + entropy_below(200); i < count; i++) {
			struct redirect_event click = world_click(1 + i % 3, i);
			click.latency_us = 100000000 + entropy_below(1000);
			owner_take(&owner, 0, offset++, &click);
		}
		assert_int_equal(owner_store(&owner), OK);
		owner_go_on(&owner);
	}
	world_assert_books(world, offset);
	assert_int_equal(ask(world, "SELECT count(*) FROM link_statistics s JOIN (SELECT link_id, "
	                            "avg(latency_us::numeric) / 1000 AS mean, "
	                            "var_samp(latency_us::numeric / 1000) * (count(*) - 1) AS m2 "
	                            "FROM visit_log GROUP BY link_id) log USING (link_id) "
	                            "WHERE abs(s.latency_mean_ms - mean) > 1e-6 OR abs(s.latency_m2 / m2 - 1) > 1e-6"),
	                 0);
	owner_close(&owner);
}

int main(void)
{
#define IN_A_NEW_WORLD(test) cmocka_unit_test_setup_teardown(test, world_reset, NULL)
	const struct CMUnitTest tests[] = {
		IN_A_NEW_WORLD(stores_visits_sums_and_offsets_together),
		IN_A_NEW_WORLD(has_nothing_to_publish_before_the_first_record_there_was),
		IN_A_NEW_WORLD(has_a_row_for_each_partition_that_somebody_got),
		IN_A_NEW_WORLD(goes_on_over_gaps_between_offsets),
		IN_A_NEW_WORLD(calls_published_only_what_was_handed_over),
		IN_A_NEW_WORLD(drops_events_that_were_counted),
		IN_A_NEW_WORLD(stores_a_batch_of_nothing_but_repeats),
		IN_A_NEW_WORLD(counts_a_visitor_once_per_link_and_day),
		IN_A_NEW_WORLD(knows_the_visitors_of_the_owner_before),
		IN_A_NEW_WORLD(counts_a_visitor_once_even_when_it_has_stopped_looking),
		IN_A_NEW_WORLD(counts_a_repeat_by_a_known_visitor_neither_twice_nor_as_new),
		IN_A_NEW_WORLD(counts_bots_apart_and_never_as_visitors),
		IN_A_NEW_WORLD(keeps_clicks_of_days_without_a_partition),
		IN_A_NEW_WORLD(stores_every_extreme_that_decodes),
		IN_A_NEW_WORLD(gives_counted_visits_back_as_they_were_stored),
		IN_A_NEW_WORLD(stores_each_fact_in_its_column),
		IN_A_NEW_WORLD(forgets_counted_visits_whose_day_was_dropped),
		IN_A_NEW_WORLD(keeps_latencies_as_exact_as_one_pass),
	};
	return cmocka_run_group_tests(tests, world_open, world_close);
}
