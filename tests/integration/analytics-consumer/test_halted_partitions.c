/* A place to go on that is not there any more, or not the same: nothing is skipped, and an operator hears of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>
#include <stdio.h>

#include "tests/integration/analytics-consumer/world.h"
#include "tests/integration/net/kafka_fixture.h"

#define STRANDED "SELECT count(*) FROM consumer_offsets WHERE stranded_at IS NOT NULL"

static void produce_clicks(struct world *world, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = world_click(1 + i % 17, (uint32_t)i);
		world_produce(world, &click);
	}
	world_flush(world);
}

static int64_t ask(struct world *world, const char *sql)
{
	return test_database_ask(world->database, sql);
}

static void await(struct world *world, const char *sql, int64_t wanted)
{
	test_database_await(world->database, sql, wanted, WORLD_DEADLINE_MS);
}

static void count_clicks(struct world *world, int count)
{
	world_make_topics(world);
	produce_clicks(world, count);
	struct ingest *ingest = world_start(world);
	world_await_counted(world, count);
	world_stop(world, ingest);
}

/* To a consumer it is the same topic: its name, and the places in it, are those that it was counted by. */
static void make_topic_anew(struct world *world)
{
	char sql[256];
	snprintf(world->redirects, sizeof(world->redirects), "%s.anew", world->fixture->unique);
	world_make_topics(world);
	snprintf(sql, sizeof(sql), "UPDATE consumer_offsets SET topic = '%s'", world->redirects);
	test_database_run(world->database, sql);
}

static void resume(struct world *world, const char *which)
{
	char sql[256];
	snprintf(sql, sizeof(sql), "SELECT consumer_offsets_resume(topic, partition, 0) FROM consumer_offsets WHERE %s",
	         which);
	test_database_run(world->database, sql);
}

static bool is_stranded(void *ctx)
{
	return !ingest_has_no_halted_partition(ctx);
}

static bool says_what_there_is(struct world *world, const char *why)
{
	char text[64];
	snprintf(text, sizeof(text), "\"why\":\"%s\",\"first_offset\":", why);
	return net_fixture_logged(world->fixture, text) > 0;
}

static void stands_still_loudly_where_the_next_offset_does_not_exist(void **state)
{
	struct world *world = *state;
	count_clicks(world, 200);
	/* The topic was made anew, or lost its end. */
	test_database_run(world->database, "UPDATE consumer_offsets SET next_offset = next_offset + 1000000, "
	                                   "published_offset = next_offset + 999990 WHERE partition = 2");
	struct ingest *ingest = world_start(world);
	net_fixture_wait(is_stranded, ingest, WORLD_DEADLINE_MS);
	assert_true(says_what_there_is(world, "topic_ends_before"));
	int64_t before = ask(world, "SELECT next_offset FROM consumer_offsets WHERE partition = 2");
	/* The others go on, and nothing of this one is skipped. */
	produce_clicks(world, 200);
	await(world, "SELECT (sum(visit_count) > 200)::int FROM link_statistics WHERE link_id > 0", 1);
	await(world, STRANDED, 1);
	assert_int_equal(ask(world, "SELECT next_offset FROM consumer_offsets WHERE partition = 2"), before);
	world_stop(world, ingest);
	assert_in_range(world_counted(world), 201, 399);
	/* An operator decides to go on with what there is. */
	resume(world, "partition = 2");
	ingest = world_start(world);
	world_await_counted(world, 400);
	assert_true(ingest_has_no_halted_partition(ingest));
	world_stop(world, ingest);
	world_assert_books(world, 400);
}

/* It has grown beyond where the old one was counted before anybody looks: only the records tell. */
static void counts_nothing_of_a_topic_that_was_made_anew_and_outgrew_the_old_one(void **state)
{
	struct world *world = *state;
	count_clicks(world, 200);
	make_topic_anew(world);
	produce_clicks(world, 600);
	/* What was to be published again is not there either. */
	test_database_run(world->database, "UPDATE consumer_offsets SET published_offset = 1 WHERE partition = 2");
	struct ingest *ingest = world_start(world);
	await(world, STRANDED, WORLD_PARTITIONS);
	assert_true(says_what_there_is(world, "another_record"));
	assert_int_equal(world_counted(world), 200);
	world_stop(world, ingest);
	/* However often it is started, and whatever comes. */
	int loud = net_fixture_logged(world->fixture, "\"partition_stranded\"");
	ingest = world_start(world);
	net_fixture_wait(is_stranded, ingest, WORLD_DEADLINE_MS);
	assert_int_equal(net_fixture_logged(world->fixture, "\"partition_stranded\""), loud + WORLD_PARTITIONS);
	world_stop(world, ingest);
	world_assert_books(world, 200);
	resume(world, "true");
	ingest = world_start(world);
	world_await_counted(world, 800);
	world_stop(world, ingest);
	world_assert_books(world, 800);
}

/* The end was lost by one record, and there is room for another one in its place. */
static void stands_still_when_only_the_last_record_is_gone(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	struct redirect_event click = world_click(1, 1);
	world_produce(world, &click);
	world_flush(world);
	struct ingest *ingest = world_start(world);
	world_await_counted(world, 1);
	world_stop(world, ingest);
	make_topic_anew(world);
	ingest = world_start(world);
	await(world, STRANDED, 1);
	assert_true(says_what_there_is(world, "topic_ends_before"));
	world_stop(world, ingest);
}

/* Retention has taken all that was counted, and nothing else. */
static void goes_on_where_the_record_before_is_gone_in_its_time(void **state)
{
	struct world *world = *state;
	count_clicks(world, 200);
	int64_t next = ask(world, "SELECT next_offset FROM consumer_offsets WHERE partition = 1");
	kafka_fixture_delete_before(world->fixture, world->redirects, 1, next);
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 100);
	world_await_counted(world, 300);
	world_stop(world, ingest);
	assert_int_equal(ask(world, STRANDED), 0);
	assert_int_equal(net_fixture_logged(world->fixture, "\"partition_stranded\""), 0);
	world_assert_books(world, 300);
}

static void stands_still_when_retention_was_faster(void **state)
{
	struct world *world = *state;
	count_clicks(world, 200);
	produce_clicks(world, 200);
	int64_t next = ask(world, "SELECT next_offset FROM consumer_offsets WHERE partition = 1");
	kafka_fixture_delete_before(world->fixture, world->redirects, 1, next + 3);
	struct ingest *ingest = world_start(world);
	await(world, STRANDED, 1);
	assert_true(says_what_there_is(world, "removed_by_retention"));
	assert_int_equal(ask(world, "SELECT next_offset FROM consumer_offsets WHERE partition = 1"), next);
	world_stop(world, ingest);
	resume(world, "partition = 1");
	ingest = world_start(world);
	world_await_counted(world, 397);
	world_stop(world, ingest);
	world_assert_books(world, 397);
}

/*
 * What was to be published again is behind the retention of the clicks: those visits are lost to integrations, which is
 * said, and counting goes on where it was.
 */
static void goes_on_loudly_when_clicks_to_publish_again_are_gone(void **state)
{
	struct world *world = *state;
	count_clicks(world, 300);
	int64_t next = ask(world, "SELECT next_offset FROM consumer_offsets WHERE partition = 1");
	assert_true(next > 10);
	test_database_run(world->database, "UPDATE consumer_offsets SET published_offset = 3 WHERE partition = 1");
	kafka_fixture_delete_before(world->fixture, world->redirects, 1, next - 2);
	struct ingest *ingest = world_start(world);
	produce_clicks(world, 60);
	world_await_counted(world, 360);
	assert_true(net_fixture_logged(world->fixture, "\"visits_cannot_be_published_again\"") > 0);
	assert_int_equal(net_fixture_logged(world->fixture, "\"partition_stranded\""), 0);
	assert_true(ingest_has_no_halted_partition(ingest));
	await(world, "SELECT (published_offset = next_offset)::int FROM consumer_offsets WHERE partition = 1", 1);
	world_stop(world, ingest);
	world_assert_books(world, 360);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_open, world_close)
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(stands_still_loudly_where_the_next_offset_does_not_exist),
		IN_A_WORLD(counts_nothing_of_a_topic_that_was_made_anew_and_outgrew_the_old_one),
		IN_A_WORLD(stands_still_when_only_the_last_record_is_gone),
		IN_A_WORLD(goes_on_where_the_record_before_is_gone_in_its_time),
		IN_A_WORLD(stands_still_when_retention_was_faster),
		IN_A_WORLD(goes_on_loudly_when_clicks_to_publish_again_are_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
