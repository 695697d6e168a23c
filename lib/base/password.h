/*
 * bcrypt password hashes ("$2b$", libxcrypt). One hash of cost 12 takes about 200 ms of CPU time, and
 * each step of the cost doubles it, so call password_hash and password_matches only in the password
 * threads. Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_PASSWORD_H
#define WAYMARK_LIB_BASE_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define PASSWORD_CHARS_MIN 8
/* bcrypt ignores further bytes, so a longer password would match by its prefix. */
#define PASSWORD_BYTES_MAX 72
#define PASSWORD_SIZE (PASSWORD_BYTES_MAX + 1)
#define PASSWORD_HASH_SIZE 61

#define PASSWORD_COST_MIN 4
#define PASSWORD_COST_MAX 16
#define PASSWORD_COST_DEFAULT "12"

/*
 * password: at most PASSWORD_BYTES_MAX bytes. cost: PASSWORD_COST_MIN to PASSWORD_COST_MAX.
 * ERR_INTERNAL: libxcrypt does not support bcrypt.
 */
enum err password_hash(const char *password, int64_t cost,
                       char out[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/*
 * A NULL hash stands for a missing account: does the work of a hash of that cost and returns false.
 * The cost of an existing hash is part of it.
 */
bool password_matches(const char *password, const char *hash, int64_t cost);

#endif
