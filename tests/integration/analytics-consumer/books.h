/*
 * One thread at a time. For tests: whether everything that was summed up agrees with the visit log, row by row.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_BOOKS_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_BOOKS_H

#include "tests/support/test_database.h"

/* Fails the test where a row of link_statistics or of a roll-up is missing, too many, or says something else. */
void books_assert_equal(struct test_database *db);

#endif
