#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "services/links-api/links/kept_answer.h"

static void comes_back_as_it_was_packed(void **state)
{
	(void)state;
	struct kept_answer made, kept;
	struct strbuf packed;
	kept_answer_init(&made);
	kept_answer_init(&kept);
	struct json *body = json_new_object();
	json_set_text(body, "title", "two\nlines");
	assert_int_equal(kept_answer_set(&made, 201, body), OK);
	snprintf(made.location, sizeof(made.location), "/api/links/7");
	snprintf(made.etag, sizeof(made.etag), "\"v1\"");
	kept_answer_pack(&made, &packed);
	assert_int_equal(kept_answer_unpack(packed.data, packed.len, &kept), OK);
	assert_int_equal(kept.status, 201);
	assert_string_equal(kept.location, "/api/links/7");
	assert_string_equal(kept.etag, "\"v1\"");
	assert_string_equal(kept.body.data, made.body.data);
	strbuf_clear(&packed);
	kept_answer_clear(&made);
	kept_answer_clear(&kept);
}

static void takes_nothing_else(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"", "201", "201\n\n", "99\n\n\n{}", "2010\n\n\n{}", "x\n\n\n{}", "\n\n\n{}"
	};
	struct kept_answer answer;
	kept_answer_init(&answer);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kept_answer_unpack(bad[i], strlen(bad[i]), &answer), ERR_INVALID);
	assert_int_equal(kept_answer_unpack("200\n\n\n", 6, &answer), OK);
	assert_string_equal(answer.body.data, "");
	kept_answer_clear(&answer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was_packed),
		cmocka_unit_test(takes_nothing_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
