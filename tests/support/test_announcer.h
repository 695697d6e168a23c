/*
 * A stand-in for the relay of links-api in tests without links-api. It announces a generation of
 * the content of Redis every 20 ms, and a higher one as soon as another server answers. One thread
 * at a time.
 */
#ifndef WAYMARK_TESTS_SUPPORT_TEST_ANNOUNCER_H
#define WAYMARK_TESTS_SUPPORT_TEST_ANNOUNCER_H

#include <stdint.h>

struct test_announcer;

/* Starts at once. url is copied. */
struct test_announcer *test_announcer_new(const char *redis_url);
void test_announcer_free(struct test_announcer *announcer);

/* Takes effect before it returns: no announcements between pause and go_on. */
void test_announcer_pause(struct test_announcer *announcer);
void test_announcer_resume(struct test_announcer *announcer);

/* The generation that it announces. */
int64_t test_announcer_generation(struct test_announcer *announcer);
/* Announces a higher generation from now on. */
void test_announcer_raise_generation(struct test_announcer *announcer);

#endif
