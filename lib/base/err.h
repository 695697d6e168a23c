/*
 * Pure. The one error enum of the project. A function that can fail returns it, and writes its outputs only on OK.
 * The module that holds the foreign message (libpq's, errno's) logs it once; callers pass the value on, and only
 * the edge (HTTP, exit status) turns it into something else.
 */
#ifndef WAYMARK_LIB_BASE_ERR_H
#define WAYMARK_LIB_BASE_ERR_H

enum err {
	OK = 0,
	ERR_INVALID,     /* the input is wrong; the same input will fail again */
	ERR_NOT_FOUND,   /* there is no such thing */
	ERR_CONFLICT,    /* it exists already, or another version or owner was faster */
	ERR_UNAVAILABLE, /* a server cannot be reached or did not answer in time; may work later */
	ERR_LIMIT,       /* a bound was reached: size, queue, pool, quota */
	ERR_INTERNAL,    /* a bug, or an answer that the contract rules out */
};

#define MUST_CHECK __attribute__((warn_unused_result))

/* The name without its prefix, in lower case: "ok", "not_found". Never NULL. */
const char *err_name(enum err e);

#endif
