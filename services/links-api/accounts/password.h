/*
 * bcrypt password hashes ("$2b$", cost 12, libxcrypt). One hash takes about 200 ms of CPU time, so
 * call password_hash and password_matches only in the password threads. Safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define PASSWORD_BYTES_MIN 8
/* bcrypt ignores further bytes, so a longer password would match by its prefix. */
#define PASSWORD_BYTES_MAX 72
#define PASSWORD_SIZE (PASSWORD_BYTES_MAX + 1)
#define PASSWORD_HASH_SIZE 61

/* password: at most PASSWORD_BYTES_MAX bytes. ERR_INTERNAL: libxcrypt does not support bcrypt. */
enum err password_hash(const char *password, char out[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/* A NULL hash stands for a missing account: does the same work and returns false. */
bool password_matches(const char *password, const char *hash);

#endif
