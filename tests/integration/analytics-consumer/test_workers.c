/* Several workers in one process behave like one consumer. */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/analytics-consumer/ingest/workers.h"
#include "tests/integration/analytics-consumer/consumer_fixture.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define WORKERS 3

static struct workers *start_workers_with(struct consumer_fixture *fixture, size_t count,
                                          struct metrics *metrics, const char *geoip_db)
{
	struct workers_config config = { .count = count,
		                         .ingest = fixture->config,
		                         .facts = { .geoip_db = geoip_db,
		                                    .ua_regexes = "",
		                                    .user_agent_cache = 100,
		                                    .check_ms = 60000,
		                                    .log = fixture->backend->log } };
	struct workers *workers = NULL;
	config.ingest.pool = consumer_fixture_pool(fixture);
	config.ingest.metrics = metrics;
	assert_int_equal(workers_start(&config, &workers), OK);
	return workers;
}

static struct workers *start_workers(struct consumer_fixture *fixture, size_t count,
                                     struct metrics *metrics)
{
	return start_workers_with(fixture, count, metrics, "");
}

struct share {
	struct metrics *metrics;
	const struct consumer_fixture *fixture;
};

static bool all_have_partitions(void *ctx)
{
	const struct share *share = ctx;
	return backend_fixture_logged(share->fixture->backend, "kafka_partitions_assigned") >=
	               WORKERS &&
	       backend_fixture_metric(share->metrics, "waymark_partitions_assigned") ==
	               CONSUMER_FIXTURE_PARTITIONS;
}

TEST_CASE(count_every_click_once)
{
	struct consumer_fixture *fixture = *state;
	struct metrics *metrics = metrics_new();
	struct share share = { metrics, fixture };
	consumer_fixture_create_topics(fixture);
	struct workers *workers = start_workers(fixture, WORKERS, metrics);
	backend_fixture_wait(all_have_partitions, &share, CONSUMER_FIXTURE_DEADLINE_MS);
	consumer_fixture_produce_clicks(fixture, 3000);
	consumer_fixture_await_counted(fixture, 3000);
	consumer_fixture_assert_ledger(fixture, 3000);
	assert_true(workers_reach_kafka(workers));
	assert_true(workers_have_no_halted_partition(workers));
	assert_true(workers_can_store(workers));
	workers_stop(workers);
	/* A worker that loses and regains a partition reads some twice, and counts them once. */
	assert_in_range(backend_fixture_metric(metrics, "waymark_events_read_total"), 3000, 6000);
	assert_int_equal(backend_fixture_metric(metrics, "waymark_partitions_assigned"), 0);
	metrics_free(metrics);
}

static bool has_halted_partition(void *ctx)
{
	return !workers_have_no_halted_partition(ctx);
}

TEST_CASE(report_a_halted_partition_of_one_worker)
{
	struct consumer_fixture *fixture = *state;
	consumer_fixture_create_topics(fixture);
	char sql[256];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO consumer_offsets (topic, partition, next_offset) VALUES ('%s', 0, 1000000)",
		fixture->redirects);
	test_database_run(fixture->database, sql);
	struct workers *workers = start_workers(fixture, 2, NULL);
	backend_fixture_wait(has_halted_partition, workers, CONSUMER_FIXTURE_DEADLINE_MS);
	workers_stop(workers);
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

/* A city database takes 66 MB of memory, so the workers share one copy. */
TEST_CASE(share_one_geoip_database)
{
	struct consumer_fixture *fixture = *state;
	char folder[TEST_FOLDER_SIZE], path[TEST_FOLDER_SIZE + 16];
	consumer_fixture_create_topics(fixture);
	test_folder_make(folder);
	snprintf(path, sizeof(path), "%s/city.mmdb", folder);
	build_database(path);
	struct workers *workers = start_workers_with(fixture, WORKERS, NULL, path);
	assert_int_equal(backend_fixture_logged(fixture->backend, "\"geoip_database_read\""), 1);
	consumer_fixture_produce_clicks(fixture, 100);
	consumer_fixture_await_counted(fixture, 100);
	workers_stop(workers);
	test_folder_remove(folder);
}

TEST_CASE(are_limited_in_number)
{
	struct consumer_fixture *fixture = *state;
	const struct workers_config config = { .count = WORKERS_MAX + 1,
		                               .ingest = fixture->config };
	struct workers *workers = NULL;
	assert_int_equal(workers_start(&config, &workers), ERR_INVALID);
	assert_null(workers);
}

TEST_MAIN(.set_up = consumer_fixture_open, .tear_down = consumer_fixture_close)
