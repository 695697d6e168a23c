#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/program.h"
#include "tests/support/test.h"

struct config {
	char url[32];
	int64_t low, high;
	/* No variable. */
	int64_t tuning;
};

static const struct env_var vars[] = {
	ENV_TEXT("TEST_URL", struct config, url, NULL, "where it is"),
	ENV_INT("TEST_LOW", struct config, low, "1", 0, 100, "the lower number"),
	ENV_INT("TEST_HIGH", struct config, high, "9", 0, 100, "the higher number"),
};

static size_t check(const void *config, struct strbuf *problems)
{
	const struct config *c = config;
	size_t wrong = 0;
	if (c->url[0] != '/') {
		strbuf_add_text(problems, "TEST_URL: does not begin with a slash\n");
		wrong++;
	}
	if (c->high > 0 && c->low >= c->high) {
		strbuf_add_text(problems, "TEST_LOW: is not below TEST_HIGH\n");
		wrong++;
	}
	return wrong;
}

static const struct program program = {
	.name = "tester",
	.summary = "Tests.",
	.options = "--twice",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};

/* The result of one start. */
struct start {
	int status;
	struct config config;
	char out[4096], err[4096];
};

static int redirect(int fd, FILE *file)
{
	int saved = dup(fd);
	assert_true(saved >= 0);
	assert_true(dup2(fileno(file), fd) >= 0);
	return saved;
}

static void restore(int fd, int saved, FILE *file, char *text, size_t size)
{
	dup2(saved, fd);
	close(saved);
	rewind(file);
	text[fread(text, 1, size - 1, file)] = '\0';
	fclose(file);
}

static void start(struct start *s, const char *a, const char *b)
{
	char *argv[] = { (char *)(uintptr_t) "tester", (char *)(uintptr_t)a, (char *)(uintptr_t)b,
		         NULL };
	FILE *out = tmpfile(), *err = tmpfile();
	assert_non_null(out);
	assert_non_null(err);
	/* Garbage that must not remain, neither for invalid variables nor where there is none. */
	memset(&s->config, 'j', sizeof(s->config));
	fflush(stdout);
	fflush(stderr);
	int saved_out = redirect(STDOUT_FILENO, out);
	int saved_err = redirect(STDERR_FILENO, err);
	s->status = program_start(&program, b ? 3 : a ? 2 : 1, argv, &s->config);
	fflush(stdout);
	fflush(stderr);
	restore(STDOUT_FILENO, saved_out, out, s->out, sizeof(s->out));
	restore(STDERR_FILENO, saved_err, err, s->err, sizeof(s->err));
}

static int set_up(void **state)
{
	(void)state;
	setenv("TEST_URL", "/a", 1);
	unsetenv("TEST_LOW");
	unsetenv("TEST_HIGH");
	return 0;
}

TEST_CASE(runs_with_a_valid_environment)
{
	struct start s;
	start(&s, NULL, NULL);
	assert_int_equal(s.status, PROGRAM_RUN);
	assert_string_equal(s.out, "");
	assert_string_equal(s.err, "");
	assert_string_equal(s.config.url, "/a");
	assert_int_equal(s.config.low, 1);
	assert_int_equal(s.config.high, 9);
	assert_int_equal(s.config.tuning, 0);
}

TEST_CASE(help_lists_the_variables)
{
	struct start s;
	unsetenv("TEST_URL");
	start(&s, "--help", NULL);
	assert_int_equal(s.status, 0);
	assert_non_null(strstr(s.out, "tester: Tests.\n"));
	assert_non_null(
		strstr(s.out, "usage: tester [--help | --version | --check-config | --twice]\n"));
	assert_non_null(strstr(s.out, "  TEST_URL   required  where it is\n"));
	assert_string_equal(s.err, "");
}

TEST_CASE(prints_its_version)
{
	struct start s;
	start(&s, "--version", NULL);
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out, "tester " WAYMARK_VERSION "\n");
}

TEST_CASE(check_config_succeeds_for_a_valid_environment)
{
	struct start s;
	start(&s, "--check-config", NULL);
	assert_int_equal(s.status, 0);
	assert_string_equal(s.out, "tester: the configuration is valid\n");
	assert_string_equal(s.err, "");
}

TEST_CASE(lists_invalid_variables_on_stderr)
{
	struct start s;
	setenv("TEST_LOW", "x", 1);
	unsetenv("TEST_URL");
	start(&s, "--check-config", NULL);
	assert_int_equal(s.status, PROGRAM_EXIT_USAGE);
	assert_string_equal(s.out, "");
	assert_string_equal(s.err, "tester: 2 invalid variables:\n"
	                           "TEST_URL: is required\n"
	                           "TEST_LOW: \"x\" is not a whole number\n");
	start(&s, NULL, NULL);
	assert_int_equal(s.status, PROGRAM_EXIT_USAGE);
}

TEST_CASE(lists_problems_found_by_its_own_check)
{
	struct start s;
	setenv("TEST_URL", "a", 1);
	setenv("TEST_LOW", "50", 1);
	start(&s, NULL, NULL);
	assert_int_equal(s.status, PROGRAM_EXIT_USAGE);
	assert_string_equal(s.err, "tester: 2 invalid variables:\n"
	                           "TEST_URL: does not begin with a slash\n"
	                           "TEST_LOW: is not below TEST_HIGH\n");
}

TEST_CASE(reports_a_variable_once_if_both_checks_reject_it)
{
	struct start s;
	unsetenv("TEST_URL");
	setenv("TEST_LOW", "50", 1);
	start(&s, NULL, NULL);
	assert_string_equal(s.err, "tester: 2 invalid variables:\n"
	                           "TEST_URL: is required\n"
	                           "TEST_LOW: is not below TEST_HIGH\n");
}

TEST_CASE(its_check_sees_zeros_for_members_that_could_not_be_parsed)
{
	struct start s;
	setenv("TEST_HIGH", "x", 1);
	start(&s, NULL, NULL);
	assert_string_equal(s.err, "tester: 1 invalid variable:\n"
	                           "TEST_HIGH: \"x\" is not a whole number\n");
	setenv("TEST_HIGH", "-3", 1);
	start(&s, NULL, NULL);
	assert_int_equal(s.config.high, 0);
}

TEST_CASE(refuses_unknown_arguments)
{
	struct start s;
	start(&s, "--hlep", NULL);
	assert_int_equal(s.status, PROGRAM_EXIT_USAGE);
	assert_non_null(strstr(s.err, "tester --help"));
	start(&s, "--help", "--version");
	assert_int_equal(s.status, PROGRAM_EXIT_USAGE);
}

TEST_MAIN(.set_up = set_up)
