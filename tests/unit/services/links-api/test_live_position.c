#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "services/links-api/live/live_visits.h"
#include "tests/support/test.h"

TEST_CASE(writes_and_reads_the_partitions_that_are_known)
{
	static const char *const texts[] = { "0:0", "0:812,1:790", "3:9223372036854775807",
		                             "0:1,2:3,63:4" };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct live_visits_position position;
		struct strbuf text;
		strbuf_init(&text, 4096);
		if (live_visits_parse_position(texts[i], &position) != OK)
			fail_msg("%s", texts[i]);
		live_visits_add_position(&position, &text);
		assert_string_equal(text.data, texts[i]);
		strbuf_clear(&text);
	}
}

TEST_CASE(ignores_partitions_that_are_not_read)
{
	struct live_visits_position position;
	assert_int_equal(live_visits_parse_position("88:5,1:007,0:3", &position), OK);
	assert_int_equal(position.next[0], 3);
	assert_int_equal(position.next[1], 7);
	assert_int_equal(position.next[2], -1);
}

TEST_CASE(refuses_other_texts)
{
	static const char *const texts[] = { "",
		                             "0",
		                             "0:",
		                             ":0",
		                             "0:1,",
		                             ",0:1",
		                             "100:1",
		                             "-1:0",
		                             "0:-1",
		                             "0:1;1:2",
		                             "0:1 ",
		                             " 0:1",
		                             "0:x",
		                             "0:1:2",
		                             "0:1,,1:2",
		                             "a:1",
		                             "0:+1",
		                             "0:1,1",
		                             "0:9223372036854775808" };
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct live_visits_position position;
		if (live_visits_parse_position(texts[i], &position) != ERR_INVALID)
			fail_msg("%s", texts[i]);
	}
}

TEST_CASE(writes_nothing_if_no_partition_is_known)
{
	struct live_visits_position position;
	struct strbuf text;
	strbuf_init(&text, 64);
	live_visits_clear_position(&position);
	live_visits_add_position(&position, &text);
	assert_int_equal(text.len, 0);
	strbuf_clear(&text);
}

TEST_MAIN()
