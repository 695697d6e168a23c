#include <stdint.h>
#include <string.h>

#include "tests/support/test.h"
#include "tools/topics/topic_file.h"

static struct topic_file parse_valid(const char *text)
{
	struct topic_file file;
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	assert_int_equal(topic_file_parse(text, &file, &problems), OK);
	assert_int_equal(problems.len, 0);
	strbuf_clear(&problems);
	return file;
}

static void assert_problems(const char *text, const char *expected)
{
	struct topic_file file = { .count = 77 };
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	assert_int_equal(topic_file_parse(text, &file, &problems), ERR_INVALID);
	assert_string_equal(problems.data, expected);
	assert_int_equal(file.count, 77);
	strbuf_clear(&problems);
}

TEST_CASE(reads_name_partitions_and_settings)
{
	struct topic_file file =
		parse_valid("a.b_c-1 \t 4  retention.ms=1000 cleanup.policy=compact\nother 1\n");
	assert_int_equal(file.count, 2);
	assert_string_equal(file.topics[0].name, "a.b_c-1");
	assert_int_equal(file.topics[0].partitions, 4);
	assert_int_equal(file.topics[0].setting_count, 2);
	assert_string_equal(file.topics[0].settings[0].name, "retention.ms");
	assert_string_equal(file.topics[0].settings[0].value, "1000");
	assert_string_equal(file.topics[0].settings[1].name, "cleanup.policy");
	assert_string_equal(file.topics[0].settings[1].value, "compact");
	assert_string_equal(file.topics[1].name, "other");
	assert_int_equal(file.topics[1].setting_count, 0);
}

TEST_CASE(skips_comments_and_blank_lines)
{
	assert_int_equal(parse_valid("# a 1\n\n \t\r\na 1 # x=y\r\n").count, 1);
	assert_int_equal(parse_valid("# a 1\n\n \t\r\na 1 # x=y\r\n").topics[0].setting_count, 0);
	assert_int_equal(parse_valid("").count, 0);
}

TEST_CASE(reads_a_last_line_without_a_newline)
{
	assert_int_equal(parse_valid("a 1\nb 2").count, 2);
}

TEST_CASE(names_every_invalid_line)
{
	assert_problems("a/b 1\n\na\nb 0\nc x\nd 1 e\nf 1 =g\nh 1 i=\nj 1\nj 2\n",
	                "line 1: the first word must be a topic name\n"
	                "line 3: the second word must be the number of partitions\n"
	                "line 4: the second word must be the number of partitions\n"
	                "line 5: the second word must be the number of partitions\n"
	                "line 6: a setting must be name=value\n"
	                "line 7: a setting must be name=value\n"
	                "line 8: a setting must be name=value\n"
	                "line 10: the topic is listed twice\n");
}

TEST_CASE(refuses_names_and_values_that_are_too_long)
{
	char line[512];
	snprintf(line, sizeof(line), "%0249d 1\n", 0);
	assert_int_equal(parse_valid(line).count, 1);
	snprintf(line, sizeof(line), "%0250d 1\n", 0);
	assert_problems(line, "line 1: the first word must be a topic name\n");
	snprintf(line, sizeof(line), "a 1 %063d=%063d\n", 0, 0);
	assert_int_equal(parse_valid(line).topics[0].setting_count, 1);
	snprintf(line, sizeof(line), "a 1 %064d=1\nb 1 a=%064d\n", 0, 0);
	assert_problems(line, "line 1: the name or value of a setting must not exceed 63 bytes\n"
	                      "line 2: the name or value of a setting must not exceed 63 bytes\n");
	assert_problems("a 1 a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1", "line 1: too many settings\n");
}

TEST_CASE(refuses_too_many_topics)
{
	struct strbuf text;
	strbuf_init(&text, 4096);
	for (int i = 0; i < TOPIC_FILE_TOPICS_MAX; i++)
		strbuf_add_format(&text, "t%d 1\n", i);
	assert_int_equal(parse_valid(text.data).count, TOPIC_FILE_TOPICS_MAX);
	strbuf_add_text(&text, "last 1\n");
	assert_problems(text.data, "line 65: too many topics\n");
	strbuf_clear(&text);
}

TEST_CASE(adds_a_setting_to_each_topic_that_does_not_set_it)
{
	struct topic_file file = parse_valid("a 1\nb 1 x=1 copies=3\nc 1 x=1\n");
	assert_int_equal(topic_file_set(&file, "copies", 2), OK);
	assert_int_equal(file.topics[0].setting_count, 1);
	assert_string_equal(file.topics[0].settings[0].name, "copies");
	assert_string_equal(file.topics[0].settings[0].value, "2");
	assert_int_equal(file.topics[1].setting_count, 2);
	assert_string_equal(file.topics[1].settings[1].value, "3");
	assert_int_equal(file.topics[2].setting_count, 2);
	assert_string_equal(file.topics[2].settings[1].value, "2");
}

TEST_CASE(reports_a_topic_that_has_no_room_for_the_setting)
{
	struct topic_file file = parse_valid("a 1\nb 1 a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1\n");
	assert_int_equal(topic_file_set(&file, "copies", 2), ERR_LIMIT);
	assert_int_equal(topic_file_set(&file, "h", 2), OK);
	assert_string_equal(file.topics[1].settings[7].value, "1");
}

TEST_CASE(says_why_a_file_cannot_be_read)
{
	struct topic_file file;
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	assert_int_equal(topic_file_read("/nowhere/topics", &file, &problems), ERR_INVALID);
	assert_string_equal(problems.data, "No such file or directory\n");
	strbuf_clear(&problems);
}

TEST_CASE(reads_the_file_of_this_project)
{
	struct topic_file file;
	struct strbuf problems;
	strbuf_init(&problems, 4096);
	assert_int_equal(topic_file_read("deploy/topics.conf", &file, &problems), OK);
	assert_string_equal(file.topics[0].name, "waymark.redirects.v1");
	assert_true(file.count >= 4);
	strbuf_clear(&problems);
}

TEST_MAIN()
