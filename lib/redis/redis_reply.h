/*
 * One thread at a time. A reply of Redis. Everything is borrowed until redis_reply_free. NULL reads
 * as nil and may be freed.
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_REPLY_H
#define WAYMARK_LIB_REDIS_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct redis_reply; /* opaque; release with redis_reply_free */

/* Bytes of a string or status reply, followed by a NUL; NULL for other types. */
const char *redis_reply_bytes(const struct redis_reply *reply, size_t *len);
/* 0 for other types. */
int64_t redis_reply_int(const struct redis_reply *reply);
/* Elements of an array; 0 for other types. */
size_t redis_reply_count(const struct redis_reply *reply);
/* NULL beyond the end. */
const struct redis_reply *redis_reply_at(const struct redis_reply *reply, size_t index);
/* The text of an error reply ("NOPERM this user has no permissions…"); NULL for other types. */
const char *redis_reply_error(const struct redis_reply *reply);
void redis_reply_free(struct redis_reply *reply);

#endif
