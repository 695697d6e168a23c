#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/batch.h"

#define NOW_US INT64_C(1800000000000000)
#define VISITS_MAX 4

struct fixture {
	struct enrich_sources sources;
	struct batch batch;
	struct progress progress;
	struct progress_partition *partition; /* counted to 100 */
	struct strbuf encoded;
};

static const struct kafka_message *message_at(struct fixture *f, struct kafka_message *m, int64_t offset,
                                              int64_t occurred_at_us)
{
	struct redirect_event click = { .event_id = { 1 },
		                        .occurred_at_us = occurred_at_us,
		                        .link_id = 1,
		                        .link_version = 1,
		                        .status = 302,
		                        .method = REDIRECT_METHOD_GET,
		                        .slug = "abc" };
	strbuf_reset(&f->encoded);
	redirect_event_encode(&click, &f->encoded);
	*m = (struct kafka_message){ .offset = offset, .value = f->encoded.data, .value_len = f->encoded.len };
	return m;
}

static void add_click(struct fixture *f, int64_t offset, int64_t occurred_at_us)
{
	struct kafka_message m;
	batch_add(&f->batch, &f->sources, message_at(f, &m, offset, occurred_at_us), f->partition, NOW_US);
}

static void add_bytes(struct fixture *f, int64_t offset, const void *bytes, size_t len)
{
	const struct kafka_message m = { .offset = offset, .value = bytes, .value_len = len };
	batch_add(&f->batch, &f->sources, &m, f->partition, NOW_US);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	struct geoip *geoip = NULL;
	const struct progress_partition row = { .stored = 100, .published = 90 };
	if (geoip_open("", NULL, &geoip) != OK ||
	    user_agent_parser_new("/usr/share/uap-core/regexes.yaml", 10, NULL, &f->sources.user_agents) != OK)
		return -1;
	f->sources.geoip = geoip;
	batch_init(&f->batch, VISITS_MAX, "redirects", "dead-letters");
	progress_assign(&f->progress, &row, 1);
	f->partition = &f->progress.partitions[0];
	strbuf_init(&f->encoded, REDIRECT_EVENT_BYTES_MAX);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	batch_clear(&f->batch);
	progress_clear(&f->progress);
	user_agent_parser_free(f->sources.user_agents);
	geoip_close(f->sources.geoip);
	strbuf_clear(&f->encoded);
	free(f);
	return 0;
}

static void takes_clicks_until_it_is_full(void **state)
{
	struct fixture *f = *state;
	assert_true(batch_is_empty(&f->batch));
	for (int i = 0; i < VISITS_MAX; i++) {
		assert_false(batch_is_full(&f->batch));
		add_click(f, 100 + i, NOW_US);
	}
	assert_true(batch_is_full(&f->batch));
	assert_int_equal(f->batch.count, VISITS_MAX);
	assert_int_equal(f->partition->next, 100 + VISITS_MAX);
	assert_int_equal(batch_sum(&f->batch).bots, VISITS_MAX);
	batch_reset(&f->batch);
	assert_true(batch_is_empty(&f->batch));
}

static void counts_up_to_the_newest_click_but_not_into_the_future(void **state)
{
	struct fixture *f = *state;
	add_click(f, 100, NOW_US - 5);
	assert_int_equal(f->partition->as_of_us, NOW_US - 5);
	add_click(f, 101, NOW_US - 9);
	assert_int_equal(f->partition->as_of_us, NOW_US - 5);
	add_click(f, 102, NOW_US + 1000);
	assert_int_equal(f->partition->as_of_us, NOW_US);
}

static void reads_counted_clicks_only_to_publish_them(void **state)
{
	struct fixture *f = *state;
	add_click(f, 90, NOW_US);
	add_click(f, 100, NOW_US);
	assert_int_equal(f->batch.visits[0].fate, VISIT_COUNTED_BEFORE);
	assert_int_equal(f->batch.visits[1].fate, VISIT_NEW);
	assert_int_equal(f->partition->next, 101);
}

static void sends_what_is_no_click_to_the_dead_letters(void **state)
{
	struct fixture *f = *state;
	add_bytes(f, 100, "", 0);
	add_bytes(f, 101, NULL, 0);
	add_bytes(f, 102, "\xff\xff\xff", 3);
	assert_int_equal(f->batch.count, 0);
	assert_int_equal(batch_sum(&f->batch).poisoned, 3);
	assert_int_equal(f->partition->next, 103);
	assert_false(batch_is_empty(&f->batch));
}

static void sends_no_second_dead_letter_for_what_was_counted_over(void **state)
{
	struct fixture *f = *state;
	add_bytes(f, 95, "\xff", 1);
	assert_int_equal(batch_sum(&f->batch).poisoned, 0);
	assert_int_equal(f->partition->next, 100);
}

static void is_full_of_poison_before_memory_is(void **state)
{
	struct fixture *f = *state;
	batch_clear(&f->batch);
	batch_init(&f->batch, 1000, "redirects", "dead-letters");
	static char megabyte[1024 * 1024];
	int64_t offset = 100;
	while (!batch_is_full(&f->batch))
		add_bytes(f, offset++, megabyte, sizeof(megabyte));
	assert_in_range(offset - 100, 5, 20);
}

int main(void)
{
#define WITH_BATCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH_BATCH(takes_clicks_until_it_is_full),
		WITH_BATCH(counts_up_to_the_newest_click_but_not_into_the_future),
		WITH_BATCH(reads_counted_clicks_only_to_publish_them),
		WITH_BATCH(sends_what_is_no_click_to_the_dead_letters),
		WITH_BATCH(sends_no_second_dead_letter_for_what_was_counted_over),
		WITH_BATCH(is_full_of_poison_before_memory_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
