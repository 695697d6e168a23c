#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "services/links-api/qr/qr_picture.h"

#define PICTURE_MAX ((size_t)1024 * 1024)

/* That scanners can read the pictures is shown by tests/integration/links-api/test_qr.py. */

static void has_the_three_eyes_of_a_code_and_nothing_beyond_its_edge(void **state)
{
	(void)state;
	struct qr_code code;
	assert_int_equal(qr_code_make("https://wm.example/abc", &code), OK);
	assert_true(code.width >= 21 && code.width <= QR_CODE_WIDTH_MAX);
	for (size_t i = 0; i < 7; i++) {
		assert_true(qr_code_is_dark(&code, i, 0) && qr_code_is_dark(&code, 0, i));
		assert_true(qr_code_is_dark(&code, code.width - 1 - i, 0));
		assert_true(qr_code_is_dark(&code, 0, code.width - 1 - i));
	}
	assert_false(qr_code_is_dark(&code, code.width, 0));
	assert_false(qr_code_is_dark(&code, 0, code.width));
	qr_code_clear(&code);
}

static void refuses_texts_that_fit_into_no_code(void **state)
{
	(void)state;
	char text[QR_CODE_TEXT_MAX + 2];
	struct qr_code code;
	memset(text, 'a', sizeof(text));
	text[QR_CODE_TEXT_MAX + 1] = '\0';
	assert_int_equal(qr_code_make("", &code), ERR_INVALID);
	assert_int_equal(qr_code_make(text, &code), ERR_INVALID);
	text[QR_CODE_TEXT_MAX] = '\0';
	assert_int_equal(qr_code_make(text, &code), OK);
	assert_int_equal(code.width, QR_CODE_WIDTH_MAX);
	qr_code_clear(&code);
}

static void draws_no_picture_with_less_than_a_pixel_for_a_module(void **state)
{
	(void)state;
	struct qr_code code;
	struct strbuf out;
	struct qr_picture picture = { .margin = 3 };
	strbuf_init(&out, PICTURE_MAX);
	assert_int_equal(qr_code_make("https://wm.example/abc", &code), OK);
	picture.size = qr_picture_modules(&code, &picture);
	assert_int_equal(picture.size, code.width + 6);
	assert_int_equal(qr_picture_write_png(&code, &picture, &out), OK);
	assert_memory_equal(out.data, "\x89PNG", 4);
	picture.size--;
	assert_int_equal(qr_picture_write_png(&code, &picture, &out), ERR_INVALID);
	strbuf_clear(&out);
	qr_code_clear(&code);
}

static void writes_the_largest_pictures_within_their_ceiling(void **state)
{
	(void)state;
	char text[QR_CODE_TEXT_MAX + 1];
	struct qr_code code;
	struct strbuf out;
	const struct qr_picture picture = { QR_PICTURE_SIZE_MAX, QR_PICTURE_MARGIN_MAX };
	for (size_t i = 0; i < QR_CODE_TEXT_MAX; i++)
		text[i] = (char)('a' + i * 7 % 26);
	text[QR_CODE_TEXT_MAX] = '\0';
	strbuf_init(&out, PICTURE_MAX);
	assert_int_equal(qr_code_make(text, &code), OK);
	qr_picture_write_svg(&code, &picture, &out);
	assert_int_equal(strbuf_status(&out), OK);
	strbuf_reset(&out);
	assert_int_equal(qr_picture_write_png(&code, &picture, &out), OK);
	assert_int_equal(strbuf_status(&out), OK);
	strbuf_clear(&out);
	qr_code_clear(&code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_the_three_eyes_of_a_code_and_nothing_beyond_its_edge),
		cmocka_unit_test(refuses_texts_that_fit_into_no_code),
		cmocka_unit_test(draws_no_picture_with_less_than_a_pixel_for_a_module),
		cmocka_unit_test(writes_the_largest_pictures_within_their_ceiling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
