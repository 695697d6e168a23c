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
	ENV_TYPE_LIMIT, /* a number or "unlimited" */
	ENV_TYPE_BOOL,
	ENV_TYPE_SWITCH, /* a bool that is written on or off */
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
/*
 * A limit: a number of at least min_, or "unlimited", which is stored as ENV_UNLIMITED, so that
 * comparisons need no special case. 0 means none; a rate that cannot be 0 has 1 as min_.
 */
#define ENV_UNLIMITED INT64_MAX
#define ENV_UNLIMITED_WORD "unlimited"
#define ENV_LIMIT(n, type_, member, fallback_, min_, max_, help_)                                  \
	{                                                                                          \
		.name = (n), .type = ENV_TYPE_LIMIT, .fallback = (fallback_), .min = (min_),       \
		.max = (max_), ENV_MEMBER(type_, member), .help = help_ "; or " ENV_UNLIMITED_WORD \
	}
/* member is a bool; "true" or "false" */
#define ENV_BOOL(n, type_, member, fallback_, help_)                                               \
	{                                                                                          \
		.name = (n), .type = ENV_TYPE_BOOL, .fallback = (fallback_),                       \
		ENV_MEMBER(type_, member), .help = (help_)                                         \
	}
/* member is a bool; "on" or "off" */
#define ENV_SWITCH(n, type_, member, fallback_, help_)                                             \
	{                                                                                          \
		.name = (n), .type = ENV_TYPE_SWITCH, .fallback = (fallback_),                     \
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

/*
 * Checks like env_expect. Each returns the number of problems and appends one line for each to
 * problems, which names the variable and the part that is wrong. Values are quoted: not for
 * secrets.
 */

/* Appends the line `name: "part" reason`; part is cut and cleaned. Returns 1. */
size_t env_check_reject(const char *name, const char *part, size_t part_len, const char *reason,
                        struct strbuf *problems);

/*
 * Moves *list to its next entry; lists are separated by commas or white space. Returns the length of
 * the entry, 0 at the end.
 *
 *     for (size_t len; (len = env_next_entry(&list)) > 0; list += len)
 */
size_t env_next_entry(const char **list);

/*
 * Calls is_valid with each entry of such a list. Reports the
 * first entry that is not valid: `NAME: "entry" reason`.
 */
size_t env_check_entries(const char *list, bool (*is_valid)(const char *entry), const char *name,
                         const char *reason, struct strbuf *problems);

/*
 * A list of networks as client_ip_ranges_parse takes it. A network of all addresses is a problem:
 * who trusts it lets each client name any address as its own. So is 10.0.0.5/8, which has bits
 * after its prefix.
 */
size_t env_check_networks(const char *list, const char *name, struct strbuf *problems);

/* path must be a file that can be read; "" is valid. */
size_t env_check_file(const char *path, const char *name, struct strbuf *problems);

/*
 * path must be a directory that can be written, or be missing in one that can be written. A
 * read-only file system is accepted: it may become writable again.
 */
size_t env_check_directory(const char *path, const char *name, struct strbuf *problems);

/* http or https, a host, and a port from 1 to 65535 if there is one; no user and no password. */
size_t env_check_http_url(const char *url, const char *name, struct strbuf *problems);

/* Two ports of one program must differ, except that 0 means any. */
size_t env_check_other_port(int64_t port, int64_t other, const char *name, const char *other_name,
                            struct strbuf *problems);

/* value must be one of choices: "a, b, c". */
size_t env_check_one_of(const char *value, const char *choices, bool any_case, const char *name,
                        struct strbuf *problems);

/* How much at the start is a host, with the brackets of an IPv6 address; 0: nothing. */
size_t env_check_host_len(const char *host);

/* text is a port from 1 to 65535. */
bool env_check_is_port(const char *text, size_t len);

/* Prints the table for --help: name, default or "required", meaning; groups under their headings. */
void env_print_help(const struct env_var *vars, size_t count, FILE *out);

#endif
