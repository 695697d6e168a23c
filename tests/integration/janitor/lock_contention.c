#include <stdint.h>

#include "tests/integration/janitor/lock_contention.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/support/test.h"

#define THREADS 8
#define INCREMENTS 30
#define FEW_INCREMENTS 10
#define AT_MOST_MS 300000
#define AT_LEAST_MS 5
#define DEADLINE_S 300

/* Read and written separately, so that two concurrent increments lose one. */
struct counter {
	const char *lock;
	_Atomic int value;
};

struct contender {
	struct counter *counter;
	enum lock_contention_kind kind;
	int increments;
	int done;
	struct pg_conn *conn;
	struct pg_conn *other;
};

static enum err increment(struct contender *c, struct fenced_lock *lock)
{
	enum err err = fenced_lock_acquire(lock, c->conn, AT_MOST_MS);
	if (err != OK)
		return err;
	int value = atomic_load(&c->counter->value);
	if (c->kind == LOCK_CONTENTION_KEPT_ALIVE)
		err = fenced_lock_extend(lock, c->conn, AT_MOST_MS);
	poll(NULL, 0, 1);
	atomic_store(&c->counter->value, value + 1);
	return err == OK ? fenced_lock_release(lock, c->conn, AT_LEAST_MS) : err;
}

static void *compete(void *arg)
{
	struct contender *c = arg;
	struct fenced_lock lock;
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_S * CLOCK_US_PER_S;
	if (fenced_lock_init(&lock, c->counter->lock, "contender") != OK)
		return NULL;
	while (c->done < c->increments && clock_steady_us(clock_system()) < deadline_us) {
		enum err err = increment(c, &lock);
		if (err == OK)
			c->done++;
		else if (err != ERR_CONFLICT)
			break;
	}
	return NULL;
}

static void connect_contender(struct contender *c, struct janitor_fixture *f)
{
	c->conn = test_database_connect(f->db, "waymark_janitor");
	c->other = test_database_connect(f->db, "waymark_janitor");
	if (c->kind != LOCK_CONTENTION_IN_A_TRANSACTION)
		return;
	assert_int_equal(pg_conn_begin(c->other), OK);
	assert_int_equal(pg_conn_query(c->other, "SELECT count(*) FROM shedlock", NULL, NULL), OK);
}

static void disconnect_contender(struct contender *c)
{
	if (c->kind == LOCK_CONTENTION_IN_A_TRANSACTION)
		assert_int_equal(pg_conn_commit(c->other), OK);
	pg_conn_close(c->other);
	pg_conn_close(c->conn);
}

void lock_contention_run(struct janitor_fixture *f, enum lock_contention_kind kind)
{
	struct counter counters[2] = { { .lock = "lock 1" }, { .lock = "lock 2" } };
	struct contender contenders[THREADS];
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		contenders[i] = (struct contender){
			.counter = &counters[i % 2],
			.kind = kind,
			.increments = i == 0 ? FEW_INCREMENTS : INCREMENTS,
		};
		connect_contender(&contenders[i], f);
		assert_int_equal(pthread_create(&threads[i], NULL, compete, &contenders[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		disconnect_contender(&contenders[i]);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(contenders[i].done, contenders[i].increments);
	assert_int_equal(atomic_load(&counters[0].value),
	                 (THREADS / 2 - 1) * INCREMENTS + FEW_INCREMENTS);
	assert_int_equal(atomic_load(&counters[1].value), THREADS / 2 * INCREMENTS);
}
