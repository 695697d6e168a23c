#include "lib/base/program.h"

#include <stdio.h>
#include <string.h>

#define PROBLEMS_MAX (64 * 1024)

static void print_help(const struct program *program)
{
	printf("%s: %s\n\n"
	       "usage: %s [--help | --version | --check-config%s%s]\n\n"
	       "Configuration comes from environment variables. Set NAME_FILE to read the value of NAME from a file.\n\n",
	       program->name, program->summary, program->name, program->options ? " | " : "",
	       program->options ? program->options : "");
	if (program->options_note)
		printf("%s\n\n", program->options_note);
	env_print_help(program->vars, program->var_count, stdout);
}

/* True if a line in the first len bytes of lines is about the same variable as line. */
static bool has_problem_for(const struct strbuf *lines, size_t len, const char *line)
{
	size_t name_len = strcspn(line, ":\n") + 1;
	for (const char *other = lines->data; other < lines->data + len; other++) {
		if (strncmp(other, line, name_len) == 0)
			return true;
		other = strchr(other, '\n');
		if (!other)
			break;
	}
	return false;
}

/*
 * The program's own checks also see members that could not be parsed, as zeros. Problems that they
 * report for those variables are dropped, because a better one is already listed.
 */
static size_t check(const struct program *program, const void *config, struct strbuf *problems)
{
	struct strbuf found;
	strbuf_init(&found, PROBLEMS_MAX);
	size_t wrong = program->check(config, &found);
	if (problems->len == 0) {
		strbuf_add(problems, found.data, found.len);
		strbuf_clear(&found);
		return wrong;
	}
	size_t parsed_len = problems->len;
	wrong = 0;
	for (const char *line = found.data; *line;) {
		const char *end = strchrnul(line, '\n');
		if (!has_problem_for(problems, parsed_len, line)) {
			strbuf_add(problems, line, (size_t)(end - line));
			strbuf_add_char(problems, '\n');
			wrong++;
		}
		line = *end ? end + 1 : end;
	}
	strbuf_clear(&found);
	return wrong;
}

size_t program_read(const struct program *program, void *config, struct strbuf *problems)
{
	memset(config, 0, program->config_size);
	size_t wrong = env_read(program->vars, program->var_count, config, problems);
	if (program->check)
		wrong += check(program, config, problems);
	return wrong;
}

static int configure(const struct program *program, void *config)
{
	struct strbuf problems;
	strbuf_init(&problems, PROBLEMS_MAX);
	size_t wrong = program_read(program, config, &problems);
	if (wrong > 0)
		fprintf(stderr, "%s: %zu invalid variable%s:\n%s", program->name, wrong,
		        wrong == 1 ? "" : "s", problems.data);
	strbuf_clear(&problems);
	return wrong > 0 ? PROGRAM_EXIT_USAGE : PROGRAM_RUN;
}

static void warn(const struct program *program, const void *config)
{
	struct strbuf warnings;
	strbuf_init(&warnings, PROBLEMS_MAX);
	if (program->warn)
		program->warn(config, &warnings);
	if (warnings.len > 0)
		fprintf(stderr, "%s: warning:\n%s", program->name, warnings.data);
	strbuf_clear(&warnings);
}

static int reject_arguments(const struct program *program)
{
	fprintf(stderr, "%s: unknown arguments; see %s --help\n", program->name, program->name);
	return PROGRAM_EXIT_USAGE;
}

int program_start(const struct program *program, int argc, char **argv, void *config)
{
	if (argc > 2)
		return reject_arguments(program);
	if (argc < 2)
		return configure(program, config);
	if (strcmp(argv[1], "--help") == 0) {
		print_help(program);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		printf("%s %s\n", program->name, WAYMARK_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "--check-config") != 0)
		return reject_arguments(program);
	int status = configure(program, config);
	if (status != PROGRAM_RUN)
		return status;
	warn(program, config);
	printf("%s: the configuration is valid\n", program->name);
	return 0;
}
