/*
 * One thread at a time. For tests: checks that every aggregate table agrees with the visit log, row
 * by row.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_LEDGER_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_LEDGER_H

#include "tests/support/test_database.h"

/*
 * Fails the test when a row of link_statistics or of a roll-up is missing, superfluous or
 * different.
 */
void ledger_assert_equal(struct test_database *db);
/* The same for the roll-ups of accounts alone. */
void ledger_assert_accounts_equal(struct test_database *db);

#endif
