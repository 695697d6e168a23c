/*
 * What every program does before it serves: --help, --version, --check-config, and reading its
 * environment.
 *
 * One thread at a time.
 */
#ifndef WAYMARK_LIB_BASE_PROGRAM_H
#define WAYMARK_LIB_BASE_PROGRAM_H

#include "lib/base/env.h"

#define PROGRAM_RUN (-1)
#define PROGRAM_EXIT_USAGE 64 /* EX_USAGE: invalid arguments or environment */

struct program {
	/* "redirector". */
	const char *name;
	/* One sentence. */
	const char *summary;
	const struct env_var *vars;
	size_t var_count;
	/* Of the structure that the variables fill. */
	size_t config_size;
	/* Further options that the program parses itself, "--once"; NULL if none. */
	const char *options;
	/* What --help says of them, "--once reads PG_URL alone."; NULL if nothing. */
	const char *options_note;
	/*
	 * Checks that involve several variables or need parsing. Appends one line per invalid
	 * variable and returns their number. May be NULL.
	 */
	size_t (*check)(const void *config, struct strbuf *problems);
	/*
	 * What is valid, but perhaps not meant: appends one line "NAME: …" each, which --check-config
	 * prints on stderr. May be NULL.
	 */
	void (*warn)(const void *config, struct strbuf *warnings);
};

/*
 * Sets all config_size bytes of config to zero, then fills it from the environment. Members without
 * a variable stay zero. Returns the number of invalid variables and appends one line
 * for each to problems.
 *
 * check also sees the members of invalid variables, as zeros. Its problems about those are dropped.
 * A check that compares two members must ignore a zero.
 */
size_t program_read(const struct program *program, void *config, struct strbuf *problems);

/*
 * Reads arguments and environment. PROGRAM_RUN: config is filled, the program may go on. Any other
 * value is the exit status: 0 after --help, --version and a successful --check-config;
 * PROGRAM_EXIT_USAGE after all invalid variables have been listed on stderr.
 */
int program_start(const struct program *program, int argc, char **argv, void *config);

#endif
