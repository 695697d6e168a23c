/*
 * The only error type of the project. A function that can fail returns it and writes its outputs
 * only on OK. The module that holds the original message (of libpq, of errno) logs it once. Callers
 * pass the value on; only the edge (HTTP, exit status) turns it into something else.
 *
 * Pure.
 */
#ifndef WAYMARK_LIB_BASE_ERR_H
#define WAYMARK_LIB_BASE_ERR_H

enum err {
	OK = 0,
	ERR_INVALID,     /* the input is wrong and will fail again */
	ERR_NOT_FOUND,   /* the thing does not exist */
	ERR_CONFLICT,    /* it already exists, or another version or owner was faster */
	ERR_UNAVAILABLE, /* a server is unreachable or did not answer in time; a retry may work */
	ERR_LIMIT,       /* a limit was reached: size, queue, pool, quota */
	ERR_INTERNAL,    /* a bug, or a reply that the contract rules out */
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* The name without its prefix, in lower case: "ok", "not_found". Never NULL. */
const char *err_name(enum err e);

#endif
