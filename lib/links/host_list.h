/*
 * One thread at a time. A list of hosts (host_policy.h) in a file of the operator's.
 */
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
 * Appends the file's text to an initialised text whose limit is HOST_LIST_BYTES_MAX; a list that is half right is
 * wrong. ERR_UNAVAILABLE: it cannot be read. ERR_INVALID: it is too long, or a line is no rule, or it names nothing and
 * is of allowed hosts: an emptied file must not close every link. reason is filled then: "line 3 is no host".
 */
enum err host_list_read(const char *path, enum host_policy_kind kind, struct strbuf *text,
                        char reason[static HOST_LIST_REASON_SIZE]) MUST_CHECK;

/* The same for checks of configurations; path "" = no file, which is right. */
enum err host_list_check(const char *path, enum host_policy_kind kind,
                         char reason[static HOST_LIST_REASON_SIZE]) MUST_CHECK;

#endif
