/*
 * Configuration by environment variables. Each service has one table of variables. The table is its
 * parser and its --help, and deployment manifests are checked against it.
 *
 *   struct config { char pg_url[512]; int64_t http_port; bool strict; };
 *   static const struct env_var vars[] = {
 *       ENV_TEXT("PG_URL", struct config, pg_url, NULL, "libpq connection string"),
 *       ENV_INT("HTTP_PORT", struct config, http_port, "8080", 0, 65535, "public port; 0 = any free
 *       port"),
 *   };
 *
 * A fallback of NULL makes the variable required. A variable that is set but empty counts as not
 * set. Each variable NAME can be given as NAME_FILE instead: the path of a file whose content
 * (without one trailing newline) is the value. It is an error to set both.
 *
 * One thread at a time, before other threads start.
 */
#ifndef WAYMARK_LIB_BASE_ENV_H
#define WAYMARK_LIB_BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/strbuf.h"

enum env_type {
	ENV_TYPE_TEXT,
	ENV_TYPE_SECRET,
	ENV_TYPE_INT,
	ENV_TYPE_BOOL,
	ENV_TYPE_LOG_LEVEL,
	ENV_TYPE_GROUP, /* not a variable: a heading of --help */
};

struct env_var {
	/* NULL: a constant, which is the fallback. */
	const char *name;
	enum env_type type;
	const char *fallback;
	/* Bounds of a number, or of the length of a text in bytes. */
	int64_t min, max;
	/* Into the configuration struct. */
	size_t offset;
	/* Of the member; must hold a text with its NUL. */
	size_t size;
	const char *help;
};

#define ENV_MEMBER(type, member)                                                                   \
	.offset = offsetof(type, member), .size = sizeof(((type *)0)->member)
#define ENV_TEXT(n, type_, member, fallback_, help_)                                               \
	{                                                                                          \
		.name = (n), .type = ENV_TYPE_TEXT, .fallback = (fallback_),                       \
		.max = sizeof(((type_ *)0)->member) - 1, ENV_MEMBER(type_, member),                \
		.help = (help_)                                                                    \
	}
#define ENV_SECRET(n, type_, member, fallback_, min_, help_)                                       \
	{                                                                                          \
		.name = (n), .type = ENV_TYPE_SECRET, .fallback = (fallback_), .min = (min_),      \
		.max = sizeof(((type_ *)0)->member) - 1, ENV_MEMBER(type_, member),                \
		.help = (help_)                                                                    \
	}
/* A member that no variable sets. Tests set the member itself. */
#define ENV_CONSTANT_INT(type_, member, value_)                                                    \
	{                                                                                          \
		.type = ENV_TYPE_INT, .fallback = (value_), .min = INT64_MIN, .max = INT64_MAX,    \
		ENV_MEMBER(type_, member)                                                          \
	}
#define ENV_CONSTANT_TEXT(type_, member, value_) ENV_TEXT(NULL, type_, member, value_, NULL)
/* A heading in --help for the rows that follow: "HTTP". */
#define ENV_GROUP(name_)                                                                           \
	{                                                                                          \
		.name = (name_), .type = ENV_TYPE_GROUP                                            \
	}
/* member is an int64_t */
#define ENV_INT(n, type_, member, fallback_, min_, max_, help_)                                    \
	{                                                                                          \
		.name = (n), .type = ENV_TYPE_INT, .fallback = (fallback_), .min = (min_),         \
		.max = (max_), ENV_MEMBER(type_, member), .help = (help_)                          \
	}
/* member is a bool; "true" or "false" */
#define ENV_BOOL(n, type_, member, fallback_, help_)                                               \
	{                                                                                          \
		.name = (n), .type = ENV_TYPE_BOOL, .fallback = (fallback_),                       \
		ENV_MEMBER(type_, member), .help = (help_)                                         \
	}
/* member is an enum log_level; LOG_LEVEL is the same in every service */
#define ENV_LOG_LEVEL(type_, member)                                                               \
	{                                                                                          \
		.name = "LOG_LEVEL", .type = ENV_TYPE_LOG_LEVEL, .fallback = "info",               \
		ENV_MEMBER(type_, member), .help = "debug, info, warning or error"                 \
	}

/*
 * Fills config from the environment. Returns the number of invalid variables and appends one line
 * for each to problems ("HTTP_PORT: 70000 is not between 0 and 65535"). The line never contains the
 * value of a secret. Members of invalid variables are not written.
 */
size_t env_read(const struct env_var *vars, size_t count, void *config, struct strbuf *problems);

/*
 * For checks that the table cannot express. Returns 0 if is_valid; else appends the line "name:
 * reason" to problems and returns 1.
 */
size_t env_expect(bool is_valid, const char *name, const char *reason, struct strbuf *problems);

/* Prints the table for --help: name, default or "required", meaning; groups under their headings. */
void env_print_help(const struct env_var *vars, size_t count, FILE *out);

#endif
