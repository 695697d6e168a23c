/*
 * One thread at a time. A proxy before PostgreSQL that ends connections at the one moment when nobody knows what became
 * of a transaction: of three COMMITs one passes, one is lost on its way there, and the answer of one is lost on its way
 * back.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_COMMIT_FAULT_PROXY_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_COMMIT_FAULT_PROXY_H

#include <stddef.h>

struct commit_fault_proxy;

/* Changes url to lead through it. Fails the test when it cannot be had. */
struct commit_fault_proxy *commit_fault_proxy_new(char *url, size_t size);
/* All connections through it must be closed, or close now. */
void commit_fault_proxy_free(struct commit_fault_proxy *cutter);

/* COMMITs that the server never got, and those it carried out without being able to say so. */
int commit_fault_proxy_lost_requests(const struct commit_fault_proxy *cutter);
int commit_fault_proxy_lost_replies(const struct commit_fault_proxy *cutter);

#endif
