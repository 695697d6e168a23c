#include <stdint.h>

#include "tests/integration/janitor/janitor_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define NOON_US ((JANITOR_FIXTURE_DAY * INT64_C(24) + 12) * CLOCK_US_PER_HOUR)

const char janitor_fixture_count_partitions[] =
	"SELECT count(*) - 1 FROM pg_inherits WHERE inhparent = 'visit_log'::regclass";

struct run janitor_fixture_new_run(struct janitor_fixture *f, struct pg_conn *conn,
                                   struct fenced_lock *lock, int64_t at_most_ms)
{
	return (struct run){
		.config = &f->config,
		.clock = &f->clock.clock,
		.shutdown = f->shutdown,
		.conn = conn,
		.lock = lock,
		.at_most_ms = at_most_ms,
	};
}

int janitor_fixture_set_up(void **state)
{
	struct janitor_fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->conn = test_database_connect(f->db, "waymark_janitor");
	f->shutdown = shutdown_new();
	f->config = (struct config){ .expired_grace_s = 900,
		                     .expired_keep_days = 400,
		                     .salts_keep_s = 3600,
		                     .visit_log_keep_days = 400,
		                     .expiry_links_per_s = ENV_UNLIMITED,
		                     .audit_log_keep_days = ENV_UNLIMITED,
		                     .audit_log_entries_max = ENV_UNLIMITED,
		                     .clock_skew_max_s = ENV_UNLIMITED };
	clock_fake_init(&f->clock, NOON_US);
	assert_int_equal(fenced_lock_init(&f->lock, "test", "this"), OK);
	f->run = janitor_fixture_new_run(f, f->conn, &f->lock, JANITOR_FIXTURE_LOCK_MS);
	assert_int_equal(run_start(&f->run), OK);
	*state = f;
	return 0;
}

int janitor_fixture_tear_down(void **state)
{
	struct janitor_fixture *f = *state;
	pg_conn_close(f->conn);
	test_database_close(f->db);
	shutdown_free(f->shutdown);
	free(f);
	return 0;
}

int64_t janitor_fixture_run_task(struct janitor_fixture *f,
                                 enum err (*task)(struct run *, int64_t *))
{
	int64_t changed = 0;
	assert_int_equal(task(&f->run, &changed), OK);
	return changed;
}

void janitor_fixture_add_links(struct janitor_fixture *f, const char *columns)
{
	char sql[512];
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO links (slug, link_type, original_url, state, state_since, expires_at) "
		"SELECT 'slug-' || i, 'TEMPORARY', 'https://example.com/', %s FROM generate_series(1, 2500) AS i",
		columns);
	test_database_run(f->db, sql);
}
