/* Several ingests in one process, which must look like one from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/analytics-consumer/workers.h"
#include "tests/integration/analytics-consumer/world.h"
#include "tests/support/test_folder.h"

#define LANES 3

static struct lanes *start_lanes_with(struct world *world, size_t count, struct metrics *metrics, const char *places)
{
	struct workers_config config = { .count = count,
		                       .ingest = world->config,
		                       .facts = { .geoip_db = places,
		                                  .ua_regexes = "/usr/share/uap-core/regexes.yaml",
		                                  .user_agent_cache = 100,
		                                  .check_ms = 60000,
		                                  .log = world->fixture->log } };
	struct lanes *lanes = NULL;
	config.ingest.pool = world_pool(world);
	config.ingest.metrics = metrics;
	assert_int_equal(workers_start(&config, &lanes), OK);
	return lanes;
}

static struct lanes *start_lanes(struct world *world, size_t count, struct metrics *metrics)
{
	return start_lanes_with(world, count, metrics, "");
}

static void produce_clicks(struct world *world, int count)
{
	for (int i = 0; i < count; i++) {
		struct redirect_event click = world_click(1 + i % 17, (uint32_t)i);
		world_produce(world, &click);
	}
	world_flush(world);
}

struct share {
	struct metrics *metrics;
	const struct world *world;
};

static bool all_have_partitions(void *ctx)
{
	const struct share *share = ctx;
	return net_fixture_logged(share->world->fixture, "kafka_partitions_assigned") >= LANES &&
	       net_fixture_metric(share->metrics, "waymark_partitions_assigned") == WORLD_PARTITIONS;
}

static void count_every_click_once_together(void **state)
{
	struct world *world = *state;
	struct metrics *metrics = metrics_new();
	struct share share = { metrics, world };
	world_make_topics(world);
	struct lanes *lanes = start_lanes(world, LANES, metrics);
	net_fixture_wait(all_have_partitions, &share, WORLD_DEADLINE_MS);
	produce_clicks(world, 3000);
	world_await_counted(world, 3000);
	world_assert_books(world, 3000);
	assert_true(workers_reach_kafka(lanes));
	assert_true(workers_have_no_halted_partition(lanes));
	assert_true(workers_can_store(lanes));
	workers_stop(lanes);
	assert_int_equal(net_fixture_metric(metrics, "waymark_events_read_total"), 3000);
	assert_int_equal(net_fixture_metric(metrics, "waymark_partitions_assigned"), 0);
	metrics_free(metrics);
}

static bool one_stands_still(void *ctx)
{
	return !workers_have_no_halted_partition(ctx);
}

static void say_that_one_of_them_stands_still(void **state)
{
	struct world *world = *state;
	world_make_topics(world);
	char sql[256];
	snprintf(sql, sizeof(sql),
	         "INSERT INTO consumer_offsets (topic, partition, next_offset) VALUES ('%s', 0, 1000000)",
	         world->redirects);
	test_database_run(world->database, sql);
	struct lanes *lanes = start_lanes(world, 2, NULL);
	net_fixture_wait(one_stands_still, lanes, WORLD_DEADLINE_MS);
	workers_stop(lanes);
}

static void build_database(char *path)
{
	char program[] = "tests/support/build-city-database";
	char row[] = "203.0.113.0/24,DE,BE,Berlin";
	char *const argv[] = { program, path, row, NULL };
	pid_t pid = 0;
	int status = -1;
	assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A city database takes 66 MB, and each of them would take that. */
static void read_the_database_of_places_once_for_all(void **state)
{
	struct world *world = *state;
	char folder[TEST_FOLDER_SIZE], path[TEST_FOLDER_SIZE + 16];
	world_make_topics(world);
	test_folder_make(folder);
	snprintf(path, sizeof(path), "%s/city.mmdb", folder);
	build_database(path);
	struct lanes *lanes = start_lanes_with(world, LANES, NULL, path);
	assert_int_equal(net_fixture_logged(world->fixture, "\"geoip_database_read\""), 1);
	produce_clicks(world, 100);
	world_await_counted(world, 100);
	workers_stop(lanes);
	test_folder_remove(folder);
}

static void are_at_most_so_many(void **state)
{
	struct world *world = *state;
	const struct workers_config config = { .count = WORKERS_MAX + 1, .ingest = world->config };
	struct lanes *lanes = NULL;
	assert_int_equal(workers_start(&config, &lanes), ERR_INVALID);
	assert_null(lanes);
}

int main(void)
{
#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, world_open, world_close)
	const struct CMUnitTest tests[] = {
		IN_A_WORLD(count_every_click_once_together),
		IN_A_WORLD(say_that_one_of_them_stands_still),
		IN_A_WORLD(read_the_database_of_places_once_for_all),
		IN_A_WORLD(are_at_most_so_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
