/*
 * Safe from any thread. Passwords and their bcrypt hashes ("$2b$", cost 12, libxcrypt). A hash takes about 200 ms of
 * one core: call password_hash and password_matches only in the threads kept for them.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define PASSWORD_BYTES_MIN 8
/* bcrypt ignores what follows, so that longer passwords would match by their beginning. */
#define PASSWORD_BYTES_MAX 72
#define PASSWORD_SIZE (PASSWORD_BYTES_MAX + 1)
#define PASSWORD_HASH_SIZE 61

/* ERR_INTERNAL: libxcrypt cannot do bcrypt. password is PASSWORD_BYTES_MAX bytes long at most. */
enum err password_hash(const char *password, char out[static PASSWORD_HASH_SIZE]) MUST_CHECK;

/* hash NULL stands for a user that does not exist: the same work is done for the answer false. */
bool password_matches(const char *password, const char *hash);

#endif
