/*
 * Parses bodies about one's own account: to register {email, password, name?, invitation?}, and login
 * {email, password, code?}. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_CREDENTIALS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_CREDENTIALS_H

#include <stdbool.h>

#include "lib/base/err.h"
#include "lib/base/password.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/identity/second_factor.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/identity/user_store.h"

struct credentials {
	char email[USER_EMAIL_SIZE];
	char password[PASSWORD_SIZE];
	char name[USER_NAME_SIZE];
	/* The token of an invitation; "" = none. */
	char invitation[SECRET_SIZE];
	/* Of the second factor, as it was typed; "" = none. */
	char code[SECOND_FACTOR_TYPED_MAX + 1];
};

/*
 * ERR_INVALID: wrong lists every invalid field. email: see mail_address.h. password: at least
 * PASSWORD_CHARS_MIN characters and at most PASSWORD_BYTES_MAX bytes, and no common one
 * (common_password.h); JSON strings never contain a NUL here. name, at most USER_NAME_CHARS_MAX characters, and invitation: allowed only if has_name.
 * Without has_name, at login, a short or common password is not invalid but wrong, and only an empty one is
 * invalid; code is allowed, at most SECOND_FACTOR_TYPED_MAX bytes.
 */
enum err credentials_read(const struct json *object, bool has_name, struct credentials *out,
                          struct http_problem_fields *wrong) MUST_CHECK;

/*
 * Parses the password members of a request that requires one: {name: …}, and {new_name: …} unless
 * new_name is NULL. In that case new_password is not written. ERR_INVALID: wrong lists every
 * invalid member.
 */
enum err credentials_read_password(const struct json *object, const char *name,
                                   const char *new_name, char password[static PASSWORD_SIZE],
                                   char new_password[static PASSWORD_SIZE],
                                   struct http_problem_fields *wrong) MUST_CHECK;

/* Parse the members email, and code of a second factor. They add to wrong and leave out unchanged. */
void credentials_read_email(const struct json *object, char email[static USER_EMAIL_SIZE],
                            struct http_problem_fields *wrong);
void credentials_read_code(const struct json *object, bool is_required,
                           char code[static SECOND_FACTOR_TYPED_MAX + 1],
                           struct http_problem_fields *wrong);

/*
 * Parses the member name, a new password: at least PASSWORD_CHARS_MIN characters and at most
 * PASSWORD_BYTES_MAX bytes. Adds to wrong and writes "" if it is invalid.
 */
void credentials_read_new_password(const struct json *object, const char *name,
                                   char password[static PASSWORD_SIZE],
                                   struct http_problem_fields *wrong);

/* Overwrites the memory. */
void credentials_wipe(struct credentials *credentials);

#endif
