/*
 * One thread at a time (before threads start). Configuration by environment: each service has one table of variables
 * that is at once its parser, its --help and what deployment manifests are checked against.
 *
 *   struct config { char pg_url[512]; int64_t http_port; bool strict; };
 *   static const struct env_var vars[] = {
 *       ENV_TEXT("PG_URL", struct config, pg_url, NULL, "libpq connection string"),
 *       ENV_INT("HTTP_PORT", struct config, http_port, "8080", 0, 65535, "port that visitors ask; 0 = any free one"),
 *   };
 *
 * fallback NULL = required. A variable that is set but empty counts as not set. Each variable NAME may come as
 * NAME_FILE instead, the path of a file whose content (without one trailing newline) is the value; both set is wrong.
 */
#ifndef WAYMARK_LIB_BASE_ENV_H
#define WAYMARK_LIB_BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/strbuf.h"

enum env_type { ENV_TYPE_TEXT, ENV_TYPE_SECRET, ENV_TYPE_INT, ENV_TYPE_BOOL, ENV_TYPE_LOG_LEVEL };

struct env_var {
	const char *name;
	enum env_type type;
	const char *fallback;
	int64_t min, max; /* of a number, or of the length in bytes of a text */
	size_t offset;    /* into the configuration struct */
	size_t size;      /* of the member; a text with its NUL must fit */
	const char *help;
};

#define ENV_MEMBER(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define ENV_TEXT(n, type_, member, fallback_, help_)                                                                   \
	{                                                                                                              \
		.name = (n), .type = ENV_TYPE_TEXT, .fallback = (fallback_), .max = sizeof(((type_ *)0)->member) - 1,  \
		ENV_MEMBER(type_, member), .help = (help_)                                                             \
	}
#define ENV_SECRET(n, type_, member, fallback_, min_, help_)                                                           \
	{                                                                                                              \
		.name = (n), .type = ENV_TYPE_SECRET, .fallback = (fallback_), .min = (min_),                          \
		.max = sizeof(((type_ *)0)->member) - 1, ENV_MEMBER(type_, member), .help = (help_)                    \
	}
/* member is an int64_t */
#define ENV_INT(n, type_, member, fallback_, min_, max_, help_)                                                        \
	{                                                                                                              \
		.name = (n), .type = ENV_TYPE_INT, .fallback = (fallback_), .min = (min_), .max = (max_),              \
		ENV_MEMBER(type_, member), .help = (help_)                                                             \
	}
/* member is a bool; "true" or "false" */
#define ENV_BOOL(n, type_, member, fallback_, help_)                                                                   \
	{                                                                                                              \
		.name = (n), .type = ENV_TYPE_BOOL, .fallback = (fallback_), ENV_MEMBER(type_, member),                \
		.help = (help_)                                                                                        \
	}
/* member is an enum log_level; LOG_LEVEL is the same in every service */
#define ENV_LOG_LEVEL(type_, member)                                                                                   \
	{                                                                                                              \
		.name = "LOG_LEVEL", .type = ENV_TYPE_LOG_LEVEL, .fallback = "info", ENV_MEMBER(type_, member),        \
		.help = "debug, info, warning or error"                                                                \
	}

/*
 * Fills config from the environment. Gives the number of wrong variables and appends one line for each to problems
 * ("HTTP_PORT: 70000 is not between 0 and 65535"); a secret's value is never in it. Members of wrong variables are
 * not written.
 */
size_t env_read(const struct env_var *vars, size_t count, void *config, struct strbuf *problems);

/* For what a table cannot say: 0 if it is right; else appends "name: reason" as a line to problems and gives 1. */
size_t env_expect(bool right, const char *name, const char *reason, struct strbuf *problems);

/* The table for --help: name, default or "required", meaning. */
void env_print_help(const struct env_var *vars, size_t count, FILE *out);

#endif
