/*
 * One thread at a time. A Redis of a test's own, at a port of its own: it can be frozen, killed and started again on
 * what it had saved. Every failure ends the test.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_REDIS_H
#define WAYMARK_TESTS_SUPPORT_TEST_REDIS_H

#include <stdbool.h>
#include <stdint.h>

#define TEST_REDIS_URL_SIZE 64

struct test_redis;

/* It answers when this returns; it saves only when it is told to (SAVE). */
struct test_redis *test_redis_new(void);
void test_redis_free(struct test_redis *redis);

uint16_t test_redis_port(const struct test_redis *redis);
void test_redis_url(const struct test_redis *redis, char url[static TEST_REDIS_URL_SIZE]);

/* kill -9, and a new process on the snapshot that it saved last; answers when this returns. */
void test_redis_restart(struct test_redis *redis);
void test_redis_freeze(struct test_redis *redis);
void test_redis_thaw(struct test_redis *redis);

/* Runs a command of words with one space between them ("CONFIG SET maxmemory 1mb"); gives an integer reply, or 0. */
int64_t test_redis_run(const struct test_redis *redis, const char *command);

#endif
