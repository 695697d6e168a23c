/*
 * A separate Redis server for one test, on its own port. It can be suspended, killed, and restarted
 * from its last snapshot. Every failure aborts the test. One thread at a time.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_REDIS_H
#define WAYMARK_TESTS_SUPPORT_TEST_REDIS_H

#include <stdbool.h>
#include <stdint.h>

#define TEST_REDIS_URL_SIZE 64

struct test_redis;

/* The server is ready when this returns. It saves only on SAVE. */
struct test_redis *test_redis_new(void);
/* It accepts TLS only, and has a certificate for 127.0.0.1. */
struct test_redis *test_redis_new_with_tls(void);
void test_redis_free(struct test_redis *redis);

uint16_t test_redis_port(const struct test_redis *redis);
void test_redis_url(const struct test_redis *redis, char url[static TEST_REDIS_URL_SIZE]);
/* The path of its certificate (PEM), which is its own authority. */
const char *test_redis_certificate(const struct test_redis *redis);
/* The path of its Unix socket. */
const char *test_redis_socket(const struct test_redis *redis);

/* Kills the server and starts a new one from its last snapshot. It is ready when this returns. */
void test_redis_restart(struct test_redis *redis);
void test_redis_freeze(struct test_redis *redis);
void test_redis_thaw(struct test_redis *redis);

/*
 * Runs a command whose words are separated by one space ("CONFIG SET maxmemory 1mb"). Returns an
 * integer reply, else 0.
 */
int64_t test_redis_run(const struct test_redis *redis, const char *command);

#endif
