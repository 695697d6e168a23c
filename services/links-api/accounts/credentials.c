#include "services/links-api/accounts/credentials.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mail_address.h"
#include "lib/base/utf8.h"
#include "services/links-api/accounts/common_password.h"
#include "services/links-api/http/member.h"

void credentials_read_email(const struct json *object, char email[static USER_EMAIL_SIZE],
                            struct http_problem_fields *wrong)
{
	const char *text = member_text_of(object, "email", true, wrong);
	if (!text)
		return;
	if (mail_address_is_valid(text))
		snprintf(email, USER_EMAIL_SIZE, "%s", text);
	else
		http_problem_add_field(wrong, "/email", "email",
		                       "must be an e-mail address of at most %d ASCII characters",
		                       USER_EMAIL_MAX);
}

/* Writes "" if the member is invalid. min: characters. */
static void read_password(const struct json *object, const char *name, size_t min,
                          char out[static PASSWORD_SIZE], struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const char *password = member_text_of(object, name, true, wrong);
	out[0] = '\0';
	if (!password)
		return;
	size_t len = strlen(password);
	member_pointer(name, pointer);
	if (len == 0)
		http_problem_add_field(wrong, pointer, "empty", "must not be empty");
	else if (utf8_length(password, len) < min)
		http_problem_add_field(wrong, pointer, "too-short",
		                       "must have at least %zu characters", min);
	else if (len > PASSWORD_BYTES_MAX)
		http_problem_add_field(wrong, pointer, "too-many-bytes",
		                       "must have at most %d bytes", PASSWORD_BYTES_MAX);
	else
		memcpy(out, password, len + 1);
}

static void refuse_common(const char *password, const char *email, const char *name,
                          struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_pointer(name, pointer);
	if (*password && common_password_is(password, email))
		http_problem_add_field(wrong, pointer, "common",
		                       "is too easy to guess: a common password, the address or "
		                       "this product's name, perhaps with digits behind it");
}

void credentials_read_new_password(const struct json *object, const char *name,
                                   char password[static PASSWORD_SIZE],
                                   struct http_problem_fields *wrong)
{
	read_password(object, name, PASSWORD_CHARS_MIN, password, wrong);
}

enum err credentials_read_password(const struct json *object, const char *name,
                                   const char *new_name, char password[static PASSWORD_SIZE],
                                   char new_password[static PASSWORD_SIZE],
                                   struct http_problem_fields *wrong)
{
	const char *const names[] = { name, new_name };
	member_reject_unknown(object, names, new_name ? 2 : 1, wrong);
	read_password(object, name, PASSWORD_CHARS_MIN, password, wrong);
	if (new_name) {
		read_password(object, new_name, PASSWORD_CHARS_MIN, new_password, wrong);
		refuse_common(new_password, "", new_name, wrong);
	}
	return wrong->count == 0 ? OK : ERR_INVALID;
}

void credentials_read_code(const struct json *object, bool is_required,
                           char code[static SECOND_FACTOR_TYPED_MAX + 1],
                           struct http_problem_fields *wrong)
{
	const char *text = member_text_of(object, "code", is_required, wrong);
	if (text && strlen(text) > SECOND_FACTOR_TYPED_MAX)
		http_problem_add_field(wrong, "/code", "too-many-bytes",
		                       "must have at most %d bytes", SECOND_FACTOR_TYPED_MAX);
	else if (text)
		snprintf(code, SECOND_FACTOR_TYPED_MAX + 1, "%s", text);
}

static void read_name(const struct json *object, char out[static USER_NAME_SIZE],
                      struct http_problem_fields *wrong)
{
	const char *name = member_text_of(object, "name", false, wrong);
	if (name && member_is_line(name, 0, USER_NAME_CHARS_MAX, "/name", wrong))
		snprintf(out, USER_NAME_SIZE, "%s", name);
}

/* A token that does not fit is as wrong as its beginning. */
static void read_invitation(const struct json *object, char out[static SECRET_SIZE],
                            struct http_problem_fields *wrong)
{
	const char *token = member_text_of(object, "invitation", false, wrong);
	snprintf(out, SECRET_SIZE, "%s", token ? token : "");
}

enum err credentials_read(const struct json *object, bool has_name, struct credentials *out,
                          struct http_problem_fields *wrong)
{
	static const char *const login[] = { "email", "password", "code" };
	static const char *const registration[] = { "email", "password", "name", "invitation" };
	struct credentials read = { 0 };
	if (has_name)
		member_reject_unknown(object, registration, ARRAY_SIZE(registration), wrong);
	else
		member_reject_unknown(object, login, ARRAY_SIZE(login), wrong);
	credentials_read_email(object, read.email, wrong);
	read_password(object, "password", has_name ? PASSWORD_CHARS_MIN : 1, read.password, wrong);
	if (has_name) {
		refuse_common(read.password, read.email, "password", wrong);
		read_name(object, read.name, wrong);
		read_invitation(object, read.invitation, wrong);
	} else {
		credentials_read_code(object, false, read.code, wrong);
	}
	if (wrong->count == 0)
		*out = read;
	credentials_wipe(&read);
	return wrong->count == 0 ? OK : ERR_INVALID;
}

void credentials_wipe(struct credentials *credentials)
{
	explicit_bzero(credentials, sizeof(*credentials));
}
