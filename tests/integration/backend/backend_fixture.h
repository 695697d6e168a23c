/*
 * One thread at a time. Shared by integration tests: the addresses of PostgreSQL, Redis and Kafka,
 * a readable log, waits for conditions, and addresses that lead through a tcp_proxy.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_BACKEND_BACKEND_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_BACKEND_BACKEND_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/postgres/pg_conn.h"
#include "tests/integration/backend/tcp_proxy.h"

struct backend_fixture {
	struct log *log;
	int log_fd;
	/* A name that no other test or run has: "t4711_123456789". */
	char unique[48];
	char pg_url[512];
	char redis_url[256];
	struct kafka_config kafka;
};

/* Set-up and tear-down for cmocka; *state is the fixture. */
int backend_fixture_set_up(void **state);
int backend_fixture_tear_down(void **state);

/* The number of log lines that contain text. */
int backend_fixture_logged(const struct backend_fixture *f, const char *text);

/* The port in a url (pg_url or redis_url) at 127.0.0.1. */
uint16_t backend_fixture_port(const char *url);
void backend_fixture_set_port(char *url, size_t size, uint16_t port);

/*
 * Starts a proxy for the server of url (pg_url or redis_url), and changes url to lead through it.
 */
struct tcp_proxy *backend_fixture_proxy(char *url, size_t size);

/* Checks every few milliseconds until the condition holds. Fails the test after timeout_ms. */
void backend_fixture_wait(bool (*holds)(void *ctx), void *ctx, int64_t timeout_ms);

int64_t backend_fixture_now_ms(void);

/* The value of a metric without labels, as a scrape shows it. */
int64_t backend_fixture_metric(struct metrics *metrics, const char *name);

/* A connection to the shared database with a statement timeout of 5 s. */
struct pg_conn *backend_fixture_pg(const struct backend_fixture *f);

/* Runs a statement that returns one number. */
int64_t backend_fixture_query_int(struct pg_conn *conn, const char *sql,
                                  const struct pg_params *params);

#endif
