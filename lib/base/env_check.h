/*
 * Checks of variables that the table of env.h cannot express. Each returns the number of problems
 * and appends one line for each to problems, which names the variable and the part that is wrong.
 * Values are quoted: not for secrets.
 *
 * One thread at a time, before other threads start.
 */
#ifndef WAYMARK_LIB_BASE_ENV_CHECK_H
#define WAYMARK_LIB_BASE_ENV_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"

/* Appends the line `name: "part" reason`; part is cut and cleaned. Returns 1. */
size_t env_check_reject(const char *name, const char *part, size_t part_len, const char *reason,
                        struct strbuf *problems);

/*
 * Calls is_valid with each entry of a list that is separated by commas or white space. Reports the
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

/* text is a port from 1 to 65535. */
bool env_check_is_port(const char *text, size_t len);

#endif
