#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/base/timestamp.h"
#include "lib/base/utf8.h"
#include "tests/support/test.h"

/* A log that writes into a pipe, and the line that was read from it. */
struct fixture {
	struct log *log;
	int read_fd, write_fd;
	char line[2 * LOG_LINE_MAX + 1];
};

static int set_up(void **state)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) != 0)
		return -1;
	struct fixture *f = mem_zero(sizeof(*f));
	f->read_fd = fds[0];
	f->write_fd = fds[1];
	fcntl(f->read_fd, F_SETFL, O_NONBLOCK);
	f->log = log_new("tester", LOG_INFO, f->write_fd);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	log_free(f->log);
	close(f->read_fd);
	close(f->write_fd);
	free(f);
	return 0;
}

/* The bytes after the time, which varies, or "" if nothing was written. */
static const char *written(struct fixture *f)
{
	static const char lead[] = "{\"time\":\"";
	const size_t head_len = strlen(lead) + strlen("2026-11-20T08:00:00.123456Z\",");
	ssize_t len = read(f->read_fd, f->line, sizeof(f->line) - 1);
	f->line[len > 0 ? len : 0] = '\0';
	if (len <= 0)
		return "";
	assert_true((size_t)len > head_len);
	assert_memory_equal(f->line, lead, strlen(lead));
	return f->line + head_len;
}

TEST_CASE(writes_one_json_object_per_line)
{
	struct fixture *f = *state;
	log_info(f->log, "started", LOG_TEXT("name", "x"), LOG_INT("port", 8080),
	         LOG_DOUBLE("load", 0.5), LOG_BOOL("ready", true));
	assert_string_equal(
		written(f),
		"\"level\":\"info\",\"service\":\"tester\",\"event\":\"started\",\"name\":\"x\","
		"\"port\":8080,\"load\":0.5,\"ready\":true}\n");
}

TEST_CASE(writes_a_limited_line_once_a_minute_with_the_number_of_repeats)
{
	struct fixture *f = *state;
	for (int i = 0; i < 272; i++)
		log_limited_warning(f->log, "cannot_connect", LOG_TEXT("message", "refused"));
	assert_string_equal(written(f), "\"level\":\"warning\",\"service\":\"tester\",\"event\":"
	                                "\"cannot_connect\",\"message\":\"refused\"}\n");
	log_limited_warning(f->log, "cannot_connect", LOG_TEXT("message", "timed out"));
	assert_non_null(strstr(written(f), "timed out"));

	struct log_field fields[] = { LOG_TEXT("message", "refused") };
	int64_t repeated = -1;
	assert_true(log_limited_admit(f->log, 0, "event", fields, 1, &repeated));
	assert_int_equal(repeated, 0);
	assert_false(log_limited_admit(f->log, 1, "event", fields, 1, &repeated));
	assert_false(log_limited_admit(f->log, 59999999, "event", fields, 1, &repeated));
	assert_true(log_limited_admit(f->log, 60000000, "event", fields, 1, &repeated));
	assert_int_equal(repeated, 2);
}

TEST_CASE(writes_a_limited_line_again_once_it_was_over)
{
	struct fixture *f = *state;
	log_limited_warning(f->log, "cannot_connect", LOG_TEXT("message", "refused"));
	written(f);
	log_limited_forget(f->log, "another");
	log_limited_warning(f->log, "cannot_connect", LOG_TEXT("message", "refused"));
	assert_string_equal(written(f), "");
	log_limited_forget(f->log, "cannot_connect");
	log_limited_warning(f->log, "cannot_connect", LOG_TEXT("message", "refused"));
	assert_non_null(strstr(written(f), "refused"));
}

TEST_CASE(begins_with_the_current_time)
{
	struct fixture *f = *state;
	char text[28] = { 0 };
	int64_t time_us = 0;
	log_info(f->log, "started");
	written(f);
	memcpy(text, f->line + strlen("{\"time\":\""), 27);
	assert_int_equal(timestamp_parse(text, &time_us), OK);
	assert_true(llabs((long long)time_us / 1000000 - (long long)time(NULL)) < 60);
}

TEST_CASE(needs_no_fields)
{
	struct fixture *f = *state;
	log_error(f->log, "ended");
	assert_string_equal(written(f),
	                    "\"level\":\"error\",\"service\":\"tester\",\"event\":\"ended\"}\n");
}

TEST_CASE(omits_levels_below_its_own)
{
	struct fixture *f = *state;
	log_debug(f->log, "hidden");
	assert_string_equal(written(f), "");
	log_warning(f->log, "shown");
	assert_string_not_equal(written(f), "");
}

TEST_CASE(writes_nothing_without_a_log)
{
	log_error(NULL, "lost", LOG_INT("n", 1));
}

/* Asserts how a text appears in a line with this one field. */
static void assert_text(struct fixture *f, const char *text, const char *expected)
{
	char tail[256];
	snprintf(tail, sizeof(tail), "\"event\":\"e\",\"t\":\"%s\"}\n", expected);
	log_info(f->log, "e", LOG_TEXT("t", text));
	const char *line = strstr(written(f), "\"event\"");
	assert_non_null(line);
	assert_string_equal(line, tail);
}

TEST_CASE(escapes_quotes_and_backslashes)
{
	assert_text(*state, "a\"b\\c\",\"level\":\"error",
	            "a\\\"b\\\\c\\\",\\\"level\\\":\\\"error");
}

TEST_CASE(replaces_control_bytes_so_that_no_line_can_be_forged)
{
	assert_text(*state, "a\n{\"time\":0}\r\t\x1b[0m\x7f", "a?{\\\"time\\\":0}???[0m?");
	assert_text(*state, "\xc2\x85|", "?|");
}

TEST_CASE(replaces_malformed_utf8_and_keeps_the_rest)
{
	assert_text(*state, "\xff\xc3\xbc\xc3", "?\xc3\xbc?");
}

TEST_CASE(logs_a_null_text_as_empty)
{
	assert_text(*state, NULL, "");
}

TEST_CASE(omits_fields_without_a_name_and_empty_optional_texts)
{
	struct fixture *f = *state;
	log_info(f->log, "x", LOG_TEXT_IF("trace_id", ""), LOG_INT(NULL, 1),
	         LOG_TEXT_IF("other", "y"));
	assert_string_equal(
		written(f),
		"\"level\":\"info\",\"service\":\"tester\",\"event\":\"x\",\"other\":\"y\"}\n");
}

/* A deterministic generator, so that a run can be repeated. */
static unsigned char next_byte(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned char)(*seed >> 56);
}

/* 20,000 texts of random bytes. Every fourth byte has a meaning in JSON, UTF-8 or a terminal. */
TEST_CASE(no_text_can_add_a_control_byte_or_a_line)
{
	struct fixture *f = *state;
	static const char special[] = "\n\r\t\x1b\x7f\"\\\xc2\x85\xe2\x80\xa8\xf0\xff";
	uint64_t seed = 1;
	for (int i = 0; i < 20000; i++) {
		char text[64];
		size_t len = next_byte(&seed) % (sizeof(text) - 1);
		for (size_t at = 0; at < len; at++) {
			unsigned char byte = next_byte(&seed);
			text[at] =
				(char)(byte % 4
			                       ? byte
			                       : special[next_byte(&seed) % (sizeof(special) - 1)]);
		}
		text[len] = '\0';
		log_info(f->log, "x", LOG_TEXT("text", text));
		const char *line = written(f);
		size_t line_len = strlen(line);
		assert_int_equal(line[line_len - 1], '\n');
		assert_true(utf8_is_valid(line, line_len));
		for (size_t at = 0; at + 1 < line_len; at += utf8_next(line + at, line_len - at))
			assert_false(utf8_is_control(line + at));
	}
}

TEST_CASE(writes_numbers_unknown_to_json_as_null)
{
	struct fixture *f = *state;
	log_info(f->log, "e", LOG_DOUBLE("a", (double)NAN), LOG_DOUBLE("b", HUGE_VAL),
	         LOG_INT("c", INT64_MIN));
	assert_non_null(strstr(written(f), ",\"a\":null,\"b\":null,\"c\":-9223372036854775808}\n"));
}

static char *repeat(const char *unit, size_t times)
{
	struct strbuf text;
	strbuf_init(&text, times * strlen(unit));
	for (size_t i = 0; i < times; i++)
		strbuf_add_text(&text, unit);
	char *taken = strbuf_take(&text, NULL);
	strbuf_clear(&text);
	return taken;
}

TEST_CASE(cuts_a_long_value_and_keeps_the_following_fields)
{
	struct fixture *f = *state;
	char *text = repeat("\xe2\x82\xac", 3000);
	log_info(f->log, "e", LOG_TEXT("t", text), LOG_INT("n", 7));
	const char *line = written(f);
	assert_non_null(strstr(line, "\xe2\x82\xac\xe2\x80\xa6\",\"n\":7}\n"));
	assert_true(strlen(f->line) <= LOG_LINE_MAX);
	assert_true(utf8_is_valid(f->line, strlen(f->line)));
	free(text);
}

TEST_CASE(keeps_every_line_within_the_limit)
{
	struct fixture *f = *state;
	/* Values of all lengths, so that the end of the line falls on every possible position. */
	for (size_t len = 0; len < 1100; len++) {
		char *text = repeat("\"", len);
		char *plain = repeat("x", 1000);
		log_info(f->log, "e", LOG_TEXT("a", plain), LOG_TEXT("b", plain),
		         LOG_TEXT("c", text), LOG_TEXT("d", text), LOG_INT("n", len),
		         LOG_TEXT("e", plain), LOG_INT("last", 1));
		written(f);
		size_t line_len = strlen(f->line);
		assert_true(line_len <= LOG_LINE_MAX);
		assert_string_equal(f->line + line_len - 2, "}\n");
		assert_ptr_equal(strchr(f->line, '\n'), f->line + line_len - 1);
		assert_true(utf8_is_valid(f->line, line_len));
		free(text);
		free(plain);
	}
}

TEST_CASE(parses_the_names_of_levels)
{
	enum log_level level = LOG_ERROR;
	assert_true(log_level_parse("debug", &level));
	assert_int_equal(level, LOG_DEBUG);
	assert_true(log_level_parse("info", &level));
	assert_int_equal(level, LOG_INFO);
	assert_true(log_level_parse("warning", &level));
	assert_int_equal(level, LOG_WARNING);
	assert_true(log_level_parse("error", &level));
	assert_int_equal(level, LOG_ERROR);
	assert_false(log_level_parse("INFO", &level));
	assert_false(log_level_parse("", &level));
	assert_int_equal(level, LOG_ERROR);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
