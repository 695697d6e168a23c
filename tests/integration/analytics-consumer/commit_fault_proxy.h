/*
 * One thread at a time. A proxy in front of PostgreSQL that leaves transactions in doubt. Of three
 * COMMITs it forwards one, loses one before it reaches the server, and loses the server's reply to
 * one. After a loss it closes the connection.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_COMMIT_FAULT_PROXY_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_COMMIT_FAULT_PROXY_H

#include <stddef.h>

struct commit_fault_proxy;

/* Changes url so that it leads through the proxy. Fails the test on errors. */
struct commit_fault_proxy *commit_fault_proxy_new(char *url, size_t size);
/* Closes remaining connections through the proxy. */
void commit_fault_proxy_free(struct commit_fault_proxy *proxy);

/* COMMITs that the server never received, and COMMITs that succeeded but whose reply was lost. */
int commit_fault_proxy_lost_requests(const struct commit_fault_proxy *proxy);
int commit_fault_proxy_lost_replies(const struct commit_fault_proxy *proxy);

#endif
