/*
 * Finds variables of the environment whose names look like misspelt names of a table (env.h).
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_ENV_SIMILAR_H
#define WAYMARK_LIB_BASE_ENV_SIMILAR_H

#include "lib/base/env.h"

/*
 * The name in the table that name is probably meant to be, or NULL. NULL also if name, or name
 * without the suffix "_FILE", is in the table. The result is borrowed from the table.
 *
 * Case and underscores do not count, and PROXY is the same as PROXIES. Beyond that, one letter may
 * be missing, extra, wrong or swapped with its neighbour; two if the name in the table has at least
 * 12 letters, none if it has fewer than 6.
 */
const char *env_similar(const struct env_var *vars, size_t count, const char *name);

#endif
