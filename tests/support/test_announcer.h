/*
 * One thread at a time. What the relay of links-api does for Redis' readers, in a test that has no links-api: announces
 * a generation of Redis' content again and again, and a higher one as soon as another server answers.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_ANNOUNCER_H
#define WAYMARK_TESTS_SUPPORT_TEST_ANNOUNCER_H

#include <stdint.h>

struct test_announcer;

/* Begins at once. url is copied. */
struct test_announcer *test_announcer_new(const char *redis_url);
void test_announcer_free(struct test_announcer *announcer);

/* In force when it returns: nothing is announced between pause and go_on. */
void test_announcer_pause(struct test_announcer *announcer);
void test_announcer_go_on(struct test_announcer *announcer);

/* The generation that it announces. */
int64_t test_announcer_generation(struct test_announcer *announcer);
/* From now on a higher one. */
void test_announcer_raise(struct test_announcer *announcer);

#endif
