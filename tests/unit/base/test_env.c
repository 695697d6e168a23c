#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "tests/support/test.h"

struct config {
	char url[32];
	char secret[64];
	char note[16];
	int64_t port;
	int64_t rate;
	bool strict;
	bool open;
	enum log_level log_level;
};

static const struct env_var vars[] = {
	ENV_TEXT("TEST_URL", struct config, url, NULL, "where it is"),
	ENV_SECRET("TEST_SECRET", struct config, secret, NULL, 8, "what opens it"),
	ENV_TEXT("TEST_NOTE", struct config, note, "", "anything"),
	ENV_INT("TEST_PORT", struct config, port, "8080", 1, 65535, "port"),
	ENV_LIMIT("TEST_RATE", struct config, rate, "60", 1, 100, "how often"),
	ENV_BOOL("TEST_STRICT", struct config, strict, "true", "be strict"),
	ENV_SWITCH("TEST_OPEN", struct config, open, "on", "be open"),
	ENV_LOG_LEVEL(struct config, log_level),
};
#define VAR_COUNT ARRAY_SIZE(vars)

struct fixture {
	struct config config;
	struct strbuf problems;
	/* Of a file for NAME_FILE variables. */
	char path[32];
};

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	for (size_t i = 0; i < VAR_COUNT; i++) {
		char name[64];
		snprintf(name, sizeof(name), "%s_FILE", vars[i].name);
		unsetenv(name);
		unsetenv(vars[i].name);
	}
	setenv("TEST_URL", "http://a", 1);
	setenv("TEST_SECRET", "opensesame", 1);
	strbuf_init(&f->problems, 10000);
	snprintf(f->path, sizeof(f->path), "/tmp/test_env_XXXXXX");
	int fd = mkstemp(f->path);
	if (fd < 0 || close(fd) != 0)
		return -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	unlink(f->path);
	strbuf_clear(&f->problems);
	free(f);
	return 0;
}

static void write_file(const struct fixture *f, const char *bytes, size_t len)
{
	FILE *file = fopen(f->path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void assert_valid(struct fixture *f)
{
	size_t wrong = env_read(vars, VAR_COUNT, &f->config, &f->problems);
	assert_string_equal(f->problems.data, "");
	assert_int_equal(wrong, 0);
}

static void assert_invalid(struct fixture *f, size_t count, const char *problems)
{
	strbuf_reset(&f->problems);
	size_t wrong = env_read(vars, VAR_COUNT, &f->config, &f->problems);
	assert_string_equal(f->problems.data, problems);
	assert_int_equal(wrong, count);
}

TEST_CASE(fills_in_values_and_defaults)
{
	struct fixture *f = *state;
	assert_valid(f);
	assert_string_equal(f->config.url, "http://a");
	assert_string_equal(f->config.secret, "opensesame");
	assert_string_equal(f->config.note, "");
	assert_int_equal(f->config.port, 8080);
	assert_true(f->config.strict);
	assert_int_equal(f->config.log_level, LOG_INFO);
}

TEST_CASE(prefers_the_environment_to_defaults)
{
	struct fixture *f = *state;
	setenv("TEST_PORT", "65535", 1);
	setenv("TEST_STRICT", "false", 1);
	setenv("LOG_LEVEL", "warning", 1);
	setenv("TEST_NOTE", "exactly15bytes!", 1);
	assert_valid(f);
	assert_int_equal(f->config.port, 65535);
	assert_false(f->config.strict);
	assert_int_equal(f->config.log_level, LOG_WARNING);
	assert_string_equal(f->config.note, "exactly15bytes!");
}

TEST_CASE(a_limit_is_a_number_or_the_word_unlimited)
{
	static const char *const wrong[] = { "0", "-1", "101", "9223372036854775807" };
	struct fixture *f = *state;
	assert_valid(f);
	assert_int_equal(f->config.rate, 60);
	setenv("TEST_RATE", "unlimited", 1);
	assert_valid(f);
	assert_true(f->config.rate == ENV_UNLIMITED);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char problem[128];
		snprintf(problem, sizeof(problem),
		         "TEST_RATE: %s is not between 1 and 100; write unlimited for no limit\n",
		         wrong[i]);
		setenv("TEST_RATE", wrong[i], 1);
		assert_invalid(f, 1, problem);
	}
	setenv("TEST_RATE", "Unlimited", 1);
	assert_invalid(f, 1, "TEST_RATE: \"Unlimited\" is neither a whole number nor unlimited\n");
	setenv("TEST_PORT", "unlimited", 1);
	unsetenv("TEST_RATE");
	assert_invalid(f, 1, "TEST_PORT: \"unlimited\" is not a whole number\n");
}

TEST_CASE(a_switch_is_on_or_off)
{
	struct fixture *f = *state;
	assert_valid(f);
	assert_true(f->config.open);
	setenv("TEST_OPEN", "off", 1);
	assert_valid(f);
	assert_false(f->config.open);
	setenv("TEST_OPEN", "false", 1);
	assert_invalid(f, 1, "TEST_OPEN: \"false\" is neither on nor off\n");
}

TEST_CASE(counts_an_empty_variable_as_not_set)
{
	struct fixture *f = *state;
	setenv("TEST_PORT", "", 1);
	setenv("TEST_PORT_FILE", "", 1);
	assert_valid(f);
	assert_int_equal(f->config.port, 8080);
	setenv("TEST_URL", "", 1);
	assert_invalid(f, 1, "TEST_URL: is required\n");
}

TEST_CASE(lists_all_invalid_variables_at_once)
{
	struct fixture *f = *state;
	unsetenv("TEST_URL");
	setenv("TEST_SECRET", "short", 1);
	setenv("TEST_NOTE", "sixteen bytes ...", 1);
	setenv("TEST_PORT", "70000", 1);
	setenv("TEST_STRICT", "yes", 1);
	setenv("LOG_LEVEL", "loud", 1);
	assert_invalid(f, 6,
	               "TEST_URL: is required\n"
	               "TEST_SECRET: has 5 bytes, but at least 8 are needed\n"
	               "TEST_NOTE: has 17 bytes, but at most 15 are allowed\n"
	               "TEST_PORT: 70000 is not between 1 and 65535\n"
	               "TEST_STRICT: \"yes\" is neither true nor false\n"
	               "LOG_LEVEL: \"loud\" is not one of debug, info, warning, error\n");
}

TEST_CASE(does_not_write_the_members_of_invalid_variables)
{
	struct fixture *f = *state;
	f->config.port = -5;
	memcpy(f->config.note, "before", sizeof("before"));
	setenv("TEST_PORT", "0", 1);
	setenv("TEST_NOTE", "much too long for it", 1);
	assert_int_equal(env_read(vars, VAR_COUNT, &f->config, &f->problems), 2);
	assert_int_equal(f->config.port, -5);
	assert_string_equal(f->config.note, "before");
}

TEST_CASE(refuses_text_that_is_not_a_number)
{
	struct fixture *f = *state;
	setenv("TEST_PORT", "80a", 1);
	assert_invalid(f, 1, "TEST_PORT: \"80a\" is not a whole number\n");
	setenv("TEST_PORT", "a\nTEST_URL: \x1b[2J", 1);
	assert_invalid(f, 1, "TEST_PORT: \"a?TEST_URL: ?[2J\" is not a whole number\n");
}

TEST_CASE(never_prints_a_secret)
{
	struct fixture *f = *state;
	char long_secret[200];
	memset(long_secret, 'q', sizeof(long_secret) - 1);
	long_secret[sizeof(long_secret) - 1] = '\0';

	setenv("TEST_SECRET", long_secret, 1);
	assert_invalid(f, 1, "TEST_SECRET: has 199 bytes, but at most 63 are allowed\n");
	setenv("TEST_SECRET", "hush", 1);
	assert_invalid(f, 1, "TEST_SECRET: has 4 bytes, but at least 8 are needed\n");
	write_file(f, long_secret, 199);
	unsetenv("TEST_SECRET");
	setenv("TEST_SECRET_FILE", f->path, 1);
	assert_int_equal(env_read(vars, VAR_COUNT, &f->config, &f->problems), 1);
	assert_null(strstr(f->problems.data, "qq"));
}

TEST_CASE(reads_a_value_from_a_file_without_its_newline)
{
	struct fixture *f = *state;
	unsetenv("TEST_SECRET");
	setenv("TEST_SECRET_FILE", f->path, 1);
	write_file(f, "from a file\n", 12);
	assert_valid(f);
	assert_string_equal(f->config.secret, "from a file");
	write_file(f, "two newlines\n\n", 14);
	assert_valid(f);
	assert_string_equal(f->config.secret, "two newlines\n");
	write_file(f, "no newline", 10);
	assert_valid(f);
	assert_string_equal(f->config.secret, "no newline");
}

TEST_CASE(reads_any_type_from_a_file)
{
	struct fixture *f = *state;
	setenv("TEST_PORT_FILE", f->path, 1);
	write_file(f, "1234\n", 5);
	assert_valid(f);
	assert_int_equal(f->config.port, 1234);
}

TEST_CASE(accepts_a_file_of_the_maximum_length)
{
	struct fixture *f = *state;
	setenv("TEST_NOTE_FILE", f->path, 1);
	write_file(f, "exactly15bytes!\n", 16);
	assert_valid(f);
	assert_string_equal(f->config.note, "exactly15bytes!");
	write_file(f, "sixteen bytes...\n", 17);
	assert_invalid(f, 1, "TEST_NOTE: has 16 bytes, but at most 15 are allowed\n");
}

TEST_CASE(refuses_a_variable_that_is_set_directly_and_by_file)
{
	struct fixture *f = *state;
	write_file(f, "http://b", 8);
	setenv("TEST_URL_FILE", f->path, 1);
	assert_invalid(f, 1,
	               "TEST_URL: is set together with TEST_URL_FILE: set only one of them\n");
}

TEST_CASE(refuses_files_without_a_usable_value)
{
	struct fixture *f = *state;
	char expected[256];
	unsetenv("TEST_URL");
	setenv("TEST_URL_FILE", "/nonexistent/file", 1);
	assert_invalid(f, 1,
	               "TEST_URL_FILE: cannot open /nonexistent/file: No such file or directory\n");

	setenv("TEST_URL_FILE", "/tmp", 1);
	assert_invalid(f, 1, "TEST_URL_FILE: cannot read /tmp: Is a directory\n");

	setenv("TEST_URL_FILE", f->path, 1);
	write_file(f, "\n", 1);
	snprintf(expected, sizeof(expected), "TEST_URL_FILE: %s is empty\n", f->path);
	assert_invalid(f, 1, expected);

	write_file(f, "a\0b", 3);
	snprintf(expected, sizeof(expected), "TEST_URL_FILE: %s contains a NUL byte\n", f->path);
	assert_invalid(f, 1, expected);

	setenv("TEST_URL_FILE", "/dev/zero", 1);
	assert_invalid(f, 1, "TEST_URL_FILE: /dev/zero contains a NUL byte\n");
}

TEST_CASE(allows_an_empty_default_for_a_secret_with_a_minimum_length)
{
	struct fixture *f = *state;
	static const struct env_var optional[] = { ENV_SECRET("TEST_SECRET", struct config, secret,
		                                              "", 8, "x") };
	unsetenv("TEST_SECRET");
	assert_int_equal(env_read(optional, 1, &f->config, &f->problems), 0);
	assert_string_equal(f->config.secret, "");
	setenv("TEST_SECRET", "hush", 1);
	assert_int_equal(env_read(optional, 1, &f->config, &f->problems), 1);
}

TEST_CASE(prints_names_defaults_and_meanings)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	assert_non_null(out);
	env_print_help(vars, VAR_COUNT, out);
	fclose(out);
	assert_string_equal(text, "  TEST_URL     required  where it is\n"
	                          "  TEST_SECRET  required  what opens it\n"
	                          "  TEST_NOTE    -         anything\n"
	                          "  TEST_PORT    8080      port\n"
	                          "  TEST_RATE    60        how often; or unlimited\n"
	                          "  TEST_STRICT  true      be strict\n"
	                          "  TEST_OPEN    on        be open\n"
	                          "  LOG_LEVEL    info      debug, info, warning or error\n");
	free(text);
}

TEST_CASE(help_shows_groups_under_their_headings)
{
	struct two {
		int64_t port;
		int64_t threads;
	} two = { 0 };
	const struct env_var grouped[] = {
		ENV_GROUP("A group with a long heading"),
		ENV_INT("TEST_PORT", struct two, port, "8080", 1, 65535, "port"),
		ENV_GROUP("Limits"),
		ENV_INT("TEST_THREADS", struct two, threads, "2", 1, 4, "threads"),
	};
	struct strbuf problems;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	env_print_help(grouped, 4, out);
	fclose(out);
	assert_string_equal(text, "A group with a long heading:\n"
	                          "  TEST_PORT     8080      port\n"
	                          "\nLimits:\n"
	                          "  TEST_THREADS  2         threads\n");
	free(text);
	strbuf_init(&problems, 100);
	assert_int_equal(env_read(grouped, 4, &two, &problems), 0);
	assert_int_equal(two.port, 8080);
	assert_int_equal(two.threads, 2);
	strbuf_clear(&problems);
}

TEST_CASE(reports_failed_expectations_in_the_same_form)
{
	struct fixture *f = *state;
	assert_int_equal(env_expect(true, "TEST_URL", "leads nowhere", &f->problems), 0);
	assert_string_equal(f->problems.data, "");
	assert_int_equal(env_expect(false, "TEST_URL", "leads nowhere: 100%", &f->problems), 1);
	assert_string_equal(f->problems.data, "TEST_URL: leads nowhere: 100%\n");
}

TEST_CASE(a_constant_has_its_value_and_no_variable)
{
	const struct env_var constants[] = { ENV_CONSTANT_INT(struct config, port, "7") };
	struct config config = { 0 };
	struct strbuf problems;
	strbuf_init(&problems, 1000);
	assert_int_equal(env_read(constants, 1, &config, &problems), 0);
	assert_int_equal(config.port, 7);
	FILE *out = tmpfile();
	env_print_help(constants, 1, out);
	assert_int_equal(ftell(out), 0);
	fclose(out);
	strbuf_clear(&problems);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
