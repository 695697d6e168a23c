/* A list of hosts (host_policy.h) in a file of the operator. One thread at a time. */
#ifndef WAYMARK_LIB_LINKS_HOST_LIST_H
#define WAYMARK_LIB_LINKS_HOST_LIST_H

#include <stddef.h>

#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/links/host_policy.h"

#define HOST_LIST_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define HOST_LIST_RULES_MAX 100000
#define HOST_LIST_REASON_SIZE 96

/*
 * Appends the content of the file to text, which must be initialised with the limit
 * HOST_LIST_BYTES_MAX. A list with one invalid line is invalid as a whole. ERR_UNAVAILABLE: the
 * file cannot be read. ERR_INVALID: it is too long, or a line is not a rule, or it is an empty list
 * of allowed hosts: an emptied file must not disable every link. In both cases reason is set, for
 * example "line 3 is not a host".
 */
enum err host_list_read(const char *path, enum host_policy_kind kind, struct strbuf *text,
                        char reason[static HOST_LIST_REASON_SIZE]) MUST_CHECK;

/* The same, for checking a configuration. An empty path means no file, which is valid. */
enum err host_list_check(const char *path, enum host_policy_kind kind,
                         char reason[static HOST_LIST_REASON_SIZE]) MUST_CHECK;

/*
 * The rows of the host files in a service's table of variables (lib/base/env.h), and their check.
 * The members of each struct config have the names used here. Returns the number of problems.
 */
#define HOST_LIST_VARS(config_)                                                                    \
	ENV_TEXT("BLOCKED_HOSTS_FILE", config_, blocked_hosts_file, "",                            \
	         "file of blocked destination hosts, one per line: example.com or .example.com; "  \
	         "extends the administrators' list"),                                              \
		ENV_TEXT("ALLOWED_HOSTS_FILE", config_, allowed_hosts_file, "",                    \
	                 "file of the only allowed destination hosts; empty = all hosts"),         \
		ENV_INT("HOSTS_CHECK_MS", config_, hosts_check_ms, "10000", 100, 60000,            \
	                "how often the host files and the table of blocked hosts are reloaded")
size_t host_list_check_files(const char *blocked, const char *allowed, struct strbuf *problems);

#endif
