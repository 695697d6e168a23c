/*
 * One thread at a time. Eight threads that each raise one of two counters 30 times (one of them 10 times), by reading,
 * waiting and writing; only the lock keeps them from losing a count.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_JANITOR_LOCK_RIVALS_H
#define WAYMARK_TESTS_INTEGRATION_JANITOR_LOCK_RIVALS_H

#include "tests/integration/janitor/janitor_fixture.h"

enum lock_rivals_kind {
	LOCK_RIVALS_PLAIN,
	LOCK_RIVALS_IN_A_TRANSACTION, /* each thread has a transaction open on another connection all the time */
	LOCK_RIVALS_KEPT_ALIVE,       /* each holder extends its lock while it has it */
};

/* Fails the test unless each raise was counted. */
void lock_rivals_compete(struct janitor_fixture *f, enum lock_rivals_kind kind);

#endif
