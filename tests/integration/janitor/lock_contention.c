#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "tests/integration/janitor/lock_contention.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 8
#define RAISES 30
#define FEW_RAISES 10
#define AT_MOST_MS 300000
#define AT_LEAST_MS 5
#define DEADLINE_S 50

/* Read and written apart, so that a raise is lost when two are at it. */
struct counter {
	const char *lock;
	atomic_int value;
};

struct rival {
	struct counter *counter;
	enum lock_contention_kind kind;
	int raises;
	int done;
	struct pg_conn *conn;
	struct pg_conn *other;
};

static enum err raise_once(struct rival *r, struct fenced_lock *lock)
{
	enum err err = fenced_lock_acquire(lock, r->conn, AT_MOST_MS);
	if (err != OK)
		return err;
	int value = atomic_load(&r->counter->value);
	if (r->kind == LOCK_CONTENTION_KEPT_ALIVE)
		err = fenced_lock_extend(lock, r->conn, AT_MOST_MS);
	poll(NULL, 0, 1);
	atomic_store(&r->counter->value, value + 1);
	return err == OK ? fenced_lock_release(lock, r->conn, AT_LEAST_MS) : err;
}

static void *compete(void *arg)
{
	struct rival *r = arg;
	struct fenced_lock lock;
	int64_t deadline_us = clock_steady_us(clock_system()) + DEADLINE_S * CLOCK_US_PER_S;
	if (fenced_lock_init(&lock, r->counter->lock, "rival") != OK)
		return NULL;
	while (r->done < r->raises && clock_steady_us(clock_system()) < deadline_us) {
		enum err err = raise_once(r, &lock);
		if (err == OK)
			r->done++;
		else if (err != ERR_CONFLICT)
			break;
	}
	return NULL;
}

static void connect_rival(struct rival *r, struct janitor_fixture *f)
{
	r->conn = test_database_connect(f->db, "waymark_janitor");
	r->other = test_database_connect(f->db, "waymark_janitor");
	if (r->kind != LOCK_CONTENTION_IN_A_TRANSACTION)
		return;
	assert_int_equal(pg_conn_begin(r->other), OK);
	assert_int_equal(pg_conn_query(r->other, "SELECT count(*) FROM shedlock", NULL, NULL), OK);
}

static void disconnect_rival(struct rival *r)
{
	if (r->kind == LOCK_CONTENTION_IN_A_TRANSACTION)
		assert_int_equal(pg_conn_commit(r->other), OK);
	pg_conn_close(r->other);
	pg_conn_close(r->conn);
}

void lock_contention_run(struct janitor_fixture *f, enum lock_contention_kind kind)
{
	struct counter counters[2] = { { .lock = "lock 1" }, { .lock = "lock 2" } };
	struct rival rivals[THREADS];
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		rivals[i] = (struct rival){ &counters[i % 2], kind, i == 0 ? FEW_RAISES : RAISES, 0, NULL, NULL };
		connect_rival(&rivals[i], f);
		assert_int_equal(pthread_create(&threads[i], NULL, compete, &rivals[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		disconnect_rival(&rivals[i]);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(rivals[i].done, rivals[i].raises);
	assert_int_equal(atomic_load(&counters[0].value), (THREADS / 2 - 1) * RAISES + FEW_RAISES);
	assert_int_equal(atomic_load(&counters[1].value), THREADS / 2 * RAISES);
}
