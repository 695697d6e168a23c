/*
 * One thread at a time. Eight threads increment two counters, each 30 times (one thread 10 times),
 * by reading, waiting and writing. Without mutual exclusion increments are lost.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_JANITOR_LOCK_CONTENTION_H
#define WAYMARK_TESTS_INTEGRATION_JANITOR_LOCK_CONTENTION_H

#include "tests/integration/janitor/janitor_fixture.h"

enum lock_contention_kind {
	LOCK_CONTENTION_PLAIN,
	LOCK_CONTENTION_IN_A_TRANSACTION, /* each thread keeps a transaction open on another
	                                     connection */
	LOCK_CONTENTION_KEPT_ALIVE,       /* each holder extends its lock */
};

/* Fails the test if an increment is lost. */
void lock_contention_run(struct janitor_fixture *f, enum lock_contention_kind kind);

#endif
