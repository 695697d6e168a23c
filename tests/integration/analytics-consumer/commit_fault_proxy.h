/*
 * One thread at a time. A proxy before PostgreSQL that ends connections at the one moment when nobody knows what became
 * of a transaction: of three COMMITs one passes, one is lost on its way there, and the answer of one is lost on its way
 * back.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_COMMIT_CUTTER_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_COMMIT_CUTTER_H

#include <stddef.h>

struct commit_cutter;

/* Changes url to lead through it. Fails the test when it cannot be had. */
struct commit_cutter *commit_cutter_new(char *url, size_t size);
/* All connections through it must be closed, or close now. */
void commit_cutter_free(struct commit_cutter *cutter);

/* COMMITs that the server never got, and those it carried out without being able to say so. */
int commit_cutter_lost_on_the_way_there(const struct commit_cutter *cutter);
int commit_cutter_lost_on_the_way_back(const struct commit_cutter *cutter);

#endif
