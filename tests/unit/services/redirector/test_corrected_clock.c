#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/redirector/feed/link_feed.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define NOW_US (INT64_C(1700000000) * CLOCK_US_PER_S)
#define DELIVERY_US (20 * CLOCK_US_PER_MS)

struct fixture {
	struct clock_fake machine;
	FILE *logged;
	struct log *log;
	struct corrected_clock corrected;
	/* Of the watermarks that arrive. */
	int64_t version_base;
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	clock_fake_init(&f->machine, NOW_US);
	f->logged = tmpfile();
	f->log = log_new("test", LOG_INFO, fileno(f->logged));
	link_feed_clock_init(&f->corrected, &f->machine.clock, f->log);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	log_free(f->log);
	fclose(f->logged);
	free(f);
	return 0;
}

static int count_logged(struct fixture *f, const char *text)
{
	char line[LOG_LINE_MAX + 1];
	int count = 0;
	rewind(f->logged);
	while (fgets(line, sizeof(line), f->logged))
		count += strstr(line, text) != NULL;
	return count;
}

/* Lets time pass, in which watermarks arrive whose offset to the machine's clock is this. */
static void pass(struct fixture *f, int64_t duration_us, int64_t offset_us)
{
	for (int64_t us = 0; us < duration_us; us += 100 * CLOCK_US_PER_MS) {
		clock_fake_advance(&f->machine, 100 * CLOCK_US_PER_MS);
		int64_t late_us = DELIVERY_US + us % (300 * CLOCK_US_PER_MS);
		link_feed_clock_learn(&f->corrected,
		                      clock_now_us(&f->machine.clock) - offset_us - late_us,
		                      f->version_base);
	}
}

static int64_t ahead_us(struct fixture *f)
{
	return clock_now_us(&f->corrected.clock) - clock_now_us(&f->machine.clock);
}

TEST_CASE(is_the_clock_of_the_machine_until_a_watermark_arrives)
{
	struct fixture *f = *state;
	assert_int_equal(ahead_us(f), 0);
	assert_int_equal(link_feed_clock_offset_us(&f->corrected), 0);
	assert_int_equal(clock_steady_us(&f->corrected.clock), clock_steady_us(&f->machine.clock));
}

TEST_CASE(a_clock_that_is_right_stays_as_it_is)
{
	struct fixture *f = *state;
	pass(f, 30 * CLOCK_US_PER_S, 0);
	assert_int_equal(ahead_us(f), 0);
	assert_int_equal(link_feed_clock_offset_us(&f->corrected), DELIVERY_US);
	assert_int_equal(count_logged(f, "clock_offset"), 0);
}

TEST_CASE(a_clock_that_is_behind_is_corrected_at_once)
{
	struct fixture *f = *state;
	pass(f, 100 * CLOCK_US_PER_MS, -CLOCK_US_PER_S);
	assert_int_equal(ahead_us(f), CLOCK_US_PER_S - DELIVERY_US);
	/* and stays so while no watermark arrives */
	clock_fake_advance(&f->machine, CLOCK_US_PER_HOUR);
	assert_int_equal(ahead_us(f), CLOCK_US_PER_S - DELIVERY_US);
	assert_int_equal(link_feed_clock_offset_us(&f->corrected), DELIVERY_US - CLOCK_US_PER_S);
}

TEST_CASE(a_clock_that_is_ahead_keeps_its_time)
{
	struct fixture *f = *state;
	pass(f, 30 * CLOCK_US_PER_S, CLOCK_US_PER_S);
	assert_int_equal(ahead_us(f), 0);
	assert_int_equal(link_feed_clock_offset_us(&f->corrected), CLOCK_US_PER_S + DELIVERY_US);
	assert_int_equal(count_logged(f, "clock_offset_too_large\",\"offset_ms\":1020"), 1);
}

TEST_CASE(logs_an_offset_once_and_its_end)
{
	struct fixture *f = *state;
	pass(f, 60 * CLOCK_US_PER_S, -CLOCK_US_PER_S);
	assert_int_equal(count_logged(f, "clock_offset_too_large\",\"offset_ms\":-980"), 1);
	/* the machine's clock is set right, so the steady time is as before */
	atomic_fetch_add(&f->machine.now, CLOCK_US_PER_S);
	pass(f, 60 * CLOCK_US_PER_S, 0);
	assert_int_equal(ahead_us(f), 0);
	assert_int_equal(count_logged(f, "clock_offset_too_large"), 1);
	assert_int_equal(count_logged(f, "clock_offset_normal"), 1);
}

TEST_CASE(late_watermarks_after_an_outage_do_not_set_it_back)
{
	struct fixture *f = *state;
	pass(f, CLOCK_US_PER_S, -CLOCK_US_PER_S);
	clock_fake_advance(&f->machine, CLOCK_US_PER_HOUR);
	link_feed_clock_learn(&f->corrected, clock_now_us(&f->machine.clock) - CLOCK_US_PER_HOUR,
	                      0);
	assert_int_equal(ahead_us(f), CLOCK_US_PER_S - DELIVERY_US);
}

/* A primary fails over to a machine whose clock is behind. */
TEST_CASE(forgets_the_time_of_an_earlier_epoch_at_once)
{
	struct fixture *f = *state;
	pass(f, CLOCK_US_PER_S, -5 * CLOCK_US_PER_S);
	assert_int_equal(ahead_us(f), 5 * CLOCK_US_PER_S - DELIVERY_US);
	f->version_base = 1000000;
	pass(f, CLOCK_US_PER_S, -CLOCK_US_PER_S);
	assert_int_equal(ahead_us(f), CLOCK_US_PER_S - DELIVERY_US);
	/* A late watermark of the earlier primary. */
	link_feed_clock_learn(&f->corrected, clock_now_us(&f->machine.clock) + 5 * CLOCK_US_PER_S,
	                      0);
	assert_int_equal(ahead_us(f), CLOCK_US_PER_S - DELIVERY_US);
}

/* The clock of the primary itself is set back. */
TEST_CASE(forgets_a_wrong_time_of_postgres_after_two_windows)
{
	struct fixture *f = *state;
	pass(f, CLOCK_US_PER_S, -5 * CLOCK_US_PER_S);
	assert_int_equal(ahead_us(f), 5 * CLOCK_US_PER_S - DELIVERY_US);
	pass(f, 2 * LINK_FEED_CLOCK_WINDOW_US + CLOCK_US_PER_S, 0);
	assert_int_equal(ahead_us(f), 0);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
