#include <stdint.h>

#include "tests/unit/services/links-api/json_fixture.h"

#include <string.h>

#include "tests/support/test.h"

struct public_base json_fixture_base(void)
{
	struct public_base base;
	const char *reason;
	assert_int_equal(public_base_init(&base, "https://wm.example", &reason), OK);
	return base;
}

struct json *json_fixture_parse(const char *text)
{
	char reason[JSON_REASON_SIZE];
	struct json *json = NULL;
	if (json_parse(text, strlen(text), &json, reason) != OK)
		fail_msg("%s: %s", text, reason);
	return json;
}

void json_fixture_assert_text(struct json *json, const char *expected)
{
	struct strbuf text;
	strbuf_init(&text, 65536);
	json_write(json, &text);
	json_free(json);
	assert_string_equal(text.data, expected);
	strbuf_clear(&text);
}

bool json_fixture_names(const struct http_problem_fields *wrong, const char *pointer)
{
	for (size_t i = 0; i < wrong->count; i++)
		if (strcmp(wrong->field[i].pointer, pointer) == 0)
			return true;
	return false;
}
