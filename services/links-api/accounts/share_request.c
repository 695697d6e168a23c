#include "services/links-api/accounts/share_request.h"

#include <stdio.h>
#include <string.h>

#include "services/links-api/accounts/credentials.h"
#include "services/links-api/http/member.h"

static const struct json *member_or_null(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);
	return value && json_type(value) != JSON_NULL ? value : NULL;
}

static void read_tag(const struct json *value, struct share *out, struct http_problem_fields *wrong)
{
	const char *tag = member_text(value, "/tag", wrong);
	if (tag && member_is_line(tag, 1, LINK_TAG_CHARS_MAX, "/tag", wrong))
		snprintf(out->tag, sizeof(out->tag), "%s", tag);
}

static void read_subject(const struct json *object, struct share *out,
                         struct http_problem_fields *wrong)
{
	const struct json *link = member_or_null(object, "link_id");
	const struct json *tag = member_or_null(object, "tag");
	if (!link == !tag)
		http_problem_add_field(wrong, "/link_id", link ? "exclusive" : "required",
		                       "exactly one of link_id and tag is required");
	else if (tag)
		read_tag(tag, out, wrong);
	else if (json_type(link) == JSON_INT && json_int(link) > 0)
		out->link_id = json_int(link);
	else
		http_problem_add_field(wrong, "/link_id", "id", "must be the id of a link");
}

static void read_title(const struct json *object, struct share *out,
                       struct http_problem_fields *wrong)
{
	const char *title = member_text_of(object, "title", false, wrong);
	if (title && member_is_line(title, 0, SHARE_TITLE_CHARS_MAX, "/title", wrong))
		snprintf(out->title, sizeof(out->title), "%s", title);
}

enum err share_request_read(const struct json *object, int64_t now_us, struct share *out,
                            char password[static PASSWORD_SIZE], struct http_problem_fields *wrong)
{
	static const char *const names[] = { "link_id", "tag", "title", "password", "expires_at" };
	struct share read = { 0 };
	member_reject_unknown(object, names, 5, wrong);
	read_subject(object, &read, wrong);
	read_title(object, &read, wrong);
	member_future_time_of(object, "expires_at", now_us, &read.expires_at_us, wrong);
	password[0] = '\0';
	if (member_or_null(object, "password"))
		credentials_read_new_password(object, "password", password, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}

enum err share_request_read_access(const struct json *object,
                                   uint8_t token_hash[static DIGEST_SIZE],
                                   char password[static PASSWORD_SIZE],
                                   struct http_problem_fields *wrong)
{
	static const char *const names[] = { "token", "password" };
	member_reject_unknown(object, names, 2, wrong);
	const char *token = member_text_of(object, "token", true, wrong);
	if (token)
		secret_hash(token, token_hash);
	const struct json *value = member_or_null(object, "password");
	const char *given = value ? member_text(value, "/password", wrong) : NULL;
	snprintf(password, PASSWORD_SIZE, "%s", given ? given : "");
	if (given && strlen(given) > PASSWORD_BYTES_MAX)
		http_problem_add_field(wrong, "/password", "too-many-bytes",
		                       "must have at most %d bytes", PASSWORD_BYTES_MAX);
	return wrong->count == 0 ? OK : ERR_INVALID;
}
