#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/links/visit_limit.h"
#include "tests/integration/links/link_fixture.h"
#include "tests/support/test.h"

#define TAKERS 4

static int64_t new_link(struct link_fixture *f, const char *slug)
{
	struct link_write_new new_link = link_fixture_plain(slug);
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), OK);
	return f->link.entry.id;
}

static int64_t limited_link(struct link_fixture *f, const char *slug, int64_t max_visits)
{
	int64_t id = new_link(f, slug);
	assert_int_equal(visit_limit_set(f->api, id, max_visits), OK);
	return id;
}

static int64_t left(struct link_fixture *f, int64_t id)
{
	int64_t visits;
	assert_int_equal(visit_limit_left(f->api, id, &visits), OK);
	return visits;
}

static int64_t take(struct pg_conn *conn, int64_t id, int64_t wanted)
{
	int64_t granted = -1;
	assert_int_equal(visit_limit_take(conn, id, wanted, &granted), OK);
	return granted;
}

TEST_CASE(gives_what_is_left_and_never_more)
{
	struct link_fixture *f = *state;
	struct pg_conn *redirector = test_database_connect(f->db, "waymark_redirector");
	int64_t id = limited_link(f, "limit-gives", 10);
	assert_int_equal(left(f, id), 10);
	assert_int_equal(take(redirector, id, 1), 1);
	assert_int_equal(take(redirector, id, 7), 7);
	assert_int_equal(left(f, id), 2);
	assert_int_equal(take(redirector, id, 5), 2);
	assert_int_equal(take(redirector, id, 5), 0);
	assert_int_equal(left(f, id), 0);
	assert_int_equal(take(redirector, id, INT64_MAX / 2), 0);
	pg_conn_close(redirector);
}

TEST_CASE(a_link_without_a_limit_lets_everybody_in)
{
	struct link_fixture *f = *state;
	struct pg_conn *redirector = test_database_connect(f->db, "waymark_redirector");
	int64_t id = new_link(f, "limit-none");
	assert_int_equal(left(f, id), VISIT_LIMIT_NONE);
	assert_int_equal(take(redirector, id, 3), 3);
	assert_int_equal(visit_limit_set(f->api, id, 0), OK);
	assert_int_equal(visit_limit_set(f->api, id, 5), OK);
	assert_int_equal(take(redirector, id, 9), 5);
	assert_int_equal(visit_limit_set(f->api, id, 0), OK);
	assert_int_equal(left(f, id), VISIT_LIMIT_NONE);
	assert_int_equal(take(redirector, id, 9), 9);
	pg_conn_close(redirector);
}

TEST_CASE(a_change_keeps_who_came_before)
{
	struct link_fixture *f = *state;
	struct pg_conn *redirector = test_database_connect(f->db, "waymark_redirector");
	int64_t id = limited_link(f, "limit-change", 10);
	assert_int_equal(take(redirector, id, 6), 6);
	assert_int_equal(visit_limit_set(f->api, id, 10), OK);
	assert_int_equal(left(f, id), 4);
	assert_int_equal(visit_limit_set(f->api, id, 8), OK);
	assert_int_equal(left(f, id), 2);
	/* Below those who came: nobody more, and nobody is counted again. */
	assert_int_equal(visit_limit_set(f->api, id, 3), OK);
	assert_int_equal(left(f, id), 0);
	assert_int_equal(take(redirector, id, 1), 0);
	assert_int_equal(visit_limit_set(f->api, id, 20), OK);
	assert_int_equal(left(f, id), 14);
	pg_conn_close(redirector);
}

TEST_CASE(a_new_limit_counts_the_people_of_the_statistics)
{
	struct link_fixture *f = *state;
	char sql[128];
	int64_t id = new_link(f, "limit-late");
	snprintf(
		sql, sizeof(sql),
		"INSERT INTO link_statistics (link_id, visit_count, bot_count) VALUES (%lld, 7, 90)",
		(long long)id);
	test_database_run(f->db, sql);
	assert_int_equal(visit_limit_set(f->api, id, 10), OK);
	assert_int_equal(left(f, id), 3);
}

/* --- at the same time --- */

struct taker {
	struct pg_conn *conn;
	int64_t link_id;
	int64_t turns;
	int64_t granted;
	_Atomic bool *is_over;
};

/* Some take one, some take several, as redirectors do. */
static void *take_turns(void *arg)
{
	struct taker *taker = arg;
	for (int64_t i = 0; i < taker->turns && !*taker->is_over; i++) {
		int64_t granted;
		if (visit_limit_take(taker->conn, taker->link_id, 1 + i % 7, &granted) != OK)
			abort();
		taker->granted += granted;
	}
	return NULL;
}

static int64_t take_together(struct link_fixture *f, int64_t id, int64_t turns,
                             void (*meanwhile)(struct link_fixture *f, int64_t id))
{
	struct taker takers[TAKERS];
	pthread_t threads[TAKERS];
	_Atomic bool is_over = false;
	int64_t granted = 0;
	for (int i = 0; i < TAKERS; i++)
		takers[i] = (struct taker){
			.conn = test_database_connect(f->db, "waymark_redirector"),
			.link_id = id,
			.turns = turns,
			.is_over = &is_over,
		};
	for (int i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &takers[i]), 0);
	if (meanwhile)
		meanwhile(f, id);
	is_over = meanwhile != NULL;
	for (int i = 0; i < TAKERS; i++) {
		pthread_join(threads[i], NULL);
		pg_conn_close(takers[i].conn);
		granted += takers[i].granted;
	}
	return granted;
}

TEST_CASE(takers_at_the_same_time_get_exactly_the_limit)
{
	struct link_fixture *f = *state;
	for (int round = 0; round < 5; round++) {
		char slug[32];
		snprintf(slug, sizeof(slug), "limit-together-%d", round);
		int64_t id = limited_link(f, slug, 100);
		assert_int_equal(take_together(f, id, 100, NULL), 100);
		assert_int_equal(left(f, id), 0);
	}
}

static void raise_and_lower(struct link_fixture *f, int64_t id)
{
	for (int64_t max_visits = 100; max_visits <= 2000; max_visits += 100) {
		assert_int_equal(visit_limit_set(f->api, id, max_visits), OK);
		assert_int_equal(visit_limit_set(f->api, id, max_visits - 50), OK);
	}
	assert_int_equal(visit_limit_set(f->api, id, 2000), OK);
}

TEST_CASE(a_limit_that_changes_beside_takers_is_not_exceeded)
{
	struct link_fixture *f = *state;
	char sql[96];
	int64_t id = limited_link(f, "limit-raised", 100);
	int64_t granted = take_together(f, id, 100000, raise_and_lower);
	snprintf(sql, sizeof(sql), "SELECT taken FROM link_visit_limits WHERE link_id = %lld",
	         (long long)id);
	assert_int_equal(test_database_ask(f->db, sql), granted);
	assert_true(granted <= 2000);
	assert_int_equal(granted + take_together(f, id, 1000, NULL), 2000);
}

TEST_MAIN(.group_set_up = link_fixture_set_up, .group_tear_down = link_fixture_tear_down,
          .set_up = link_fixture_empty)
