/*
 * Pure. What register and login send: {email, password, name?}, checked.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_CREDENTIALS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_CREDENTIALS_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/net/http_problem.h"
#include "lib/net/json.h"
#include "services/links-api/accounts/password.h"
#include "services/links-api/accounts/user_store.h"

struct credentials {
	char email[USER_EMAIL_SIZE];
	char password[PASSWORD_SIZE];
	char name[USER_NAME_SIZE];
};

/*
 * ERR_INVALID: wrong lists every wrong field. email: printable ASCII, one "@" with something on both sides. password:
 * PASSWORD_BYTES_MIN to PASSWORD_BYTES_MAX bytes (JSON text never holds a NUL here). name: only if has_name, at most
 * USER_NAME_CHARS_MAX characters.
 */
enum err credentials_read(const struct json *object, bool has_name, struct credentials *out,
                          struct http_problem_fields *wrong) MUST_CHECK;

/*
 * What proves an account's own password: {name: …}, and {new_name: …} beside it, which may be NULL if there is no other
 * one to come; new_password is left alone then. ERR_INVALID: wrong lists every wrong member.
 */
enum err credentials_read_proof(const struct json *object, const char *name, const char *new_name,
                                char password[static PASSWORD_SIZE], char new_password[static PASSWORD_SIZE],
                                struct http_problem_fields *wrong) MUST_CHECK;

/* Leaves nothing of them in memory. */
void credentials_wipe(struct credentials *credentials);

#endif
