/* A list of hosts (host_policy.h) in a file of the operator. One thread at a time. */
#ifndef WAYMARK_LIB_LINKS_HOST_LIST_H
#define WAYMARK_LIB_LINKS_HOST_LIST_H

#include <stddef.h>

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

#endif
