/*
 * One thread at a time. What each program does with its arguments before it serves: --help, --version, --check-config,
 * and reading its environment.
 */
#ifndef WAYMARK_LIB_BASE_PROGRAM_H
#define WAYMARK_LIB_BASE_PROGRAM_H

#include "lib/base/env.h"

#define PROGRAM_RUN (-1)
#define PROGRAM_EXIT_USAGE 64 /* EX_USAGE: wrong arguments or environment */

struct program {
	const char *name;    /* "redirector" */
	const char *summary; /* one sentence */
	const struct env_var *vars;
	size_t var_count;
	const char *options; /* more of them, which the program reads itself: "--once"; NULL if none */
	/*
	 * Checks that span variables or need parsing; appends one line per wrong variable and gives their number. May
	 * be NULL.
	 */
	size_t (*check)(const void *config, struct strbuf *problems);
};

/*
 * Fills config from the environment. Gives the number of wrong variables and appends one line for each to problems.
 *
 * check also sees the members of wrong variables, as zeroes. What it says about those is left out; a check that
 * compares two members passes over a zero.
 */
size_t program_read(const struct program *program, void *config, struct strbuf *problems);

/*
 * Reads arguments and environment. PROGRAM_RUN: config is filled, go on. Anything else is the exit status: 0 after
 * --help, --version and a right --check-config; PROGRAM_EXIT_USAGE after every wrong variable was listed on stderr.
 */
int program_start(const struct program *program, int argc, char **argv, void *config);

#endif
