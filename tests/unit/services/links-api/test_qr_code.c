#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "services/links-api/qr/qr_code.h"
#include "tests/support/test.h"

#define IMAGE_BYTES_MAX ((size_t)1024 * 1024)

/* tests/integration/links-api/test_qr.py shows that scanners can read the images. */

TEST_CASE(has_finder_patterns_in_three_corners_and_nothing_outside)
{
	struct qr_code code;
	assert_int_equal(qr_code_encode("https://wm.example/abc", &code), OK);
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

TEST_CASE(refuses_texts_that_do_not_fit_a_qr_code)
{
	char text[QR_CODE_TEXT_MAX + 2];
	struct qr_code code;
	memset(text, 'a', sizeof(text));
	text[QR_CODE_TEXT_MAX + 1] = '\0';
	assert_int_equal(qr_code_encode("", &code), ERR_INVALID);
	assert_int_equal(qr_code_encode(text, &code), ERR_INVALID);
	text[QR_CODE_TEXT_MAX] = '\0';
	assert_int_equal(qr_code_encode(text, &code), OK);
	assert_int_equal(code.width, QR_CODE_WIDTH_MAX);
	qr_code_clear(&code);
}

TEST_CASE(refuses_less_than_a_pixel_per_module)
{
	struct qr_code code;
	struct strbuf out;
	struct qr_code_image image = { .margin = 3 };
	strbuf_init(&out, IMAGE_BYTES_MAX);
	assert_int_equal(qr_code_encode("https://wm.example/abc", &code), OK);
	image.size = (int64_t)qr_code_side(&code, &image);
	assert_int_equal(image.size, code.width + 6);
	assert_int_equal(qr_code_write_png(&code, &image, &out), OK);
	assert_memory_equal(out.data, "\x89PNG", 4);
	image.size--;
	assert_int_equal(qr_code_write_png(&code, &image, &out), ERR_INVALID);
	strbuf_clear(&out);
	qr_code_clear(&code);
}

TEST_CASE(the_largest_images_fit_the_buffer)
{
	char text[QR_CODE_TEXT_MAX + 1];
	struct qr_code code;
	struct strbuf out;
	const struct qr_code_image image = { QR_CODE_SIZE_MAX, QR_CODE_MARGIN_MAX };
	for (size_t i = 0; i < QR_CODE_TEXT_MAX; i++)
		text[i] = (char)('a' + i * 7 % 26);
	text[QR_CODE_TEXT_MAX] = '\0';
	strbuf_init(&out, IMAGE_BYTES_MAX);
	assert_int_equal(qr_code_encode(text, &code), OK);
	qr_code_write_svg(&code, &image, &out);
	assert_int_equal(strbuf_status(&out), OK);
	strbuf_reset(&out);
	assert_int_equal(qr_code_write_png(&code, &image, &out), OK);
	assert_int_equal(strbuf_status(&out), OK);
	strbuf_clear(&out);
	qr_code_clear(&code);
}

TEST_MAIN()
