/*
 * One thread at a time. Eight threads that each raise one of two counters 30 times (one of them 10 times), by reading,
 * waiting and writing; only the lock keeps them from losing a count.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_JANITOR_LOCK_RIVALS_H
#define WAYMARK_TESTS_INTEGRATION_JANITOR_LOCK_RIVALS_H

#include "tests/integration/janitor/janitor_fixture.h"

enum lock_contention_kind {
	LOCK_CONTENTION_PLAIN,
	LOCK_CONTENTION_IN_A_TRANSACTION, /* each thread has a transaction open on another connection all the time */
	LOCK_CONTENTION_KEPT_ALIVE,       /* each holder extends its lock while it has it */
};

/* Fails the test unless each raise was counted. */
void lock_contention_run(struct janitor_fixture *f, enum lock_contention_kind kind);

#endif
