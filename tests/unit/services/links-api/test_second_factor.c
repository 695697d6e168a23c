#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "services/links-api/identity/second_factor.h"
#include "tests/support/test.h"

/* RFC 6238, appendix B, SHA-1: the last six of eight digits. */
static const uint8_t secret[SECOND_FACTOR_SECRET_BYTES] = "12345678901234567890";

TEST_CASE(knows_the_codes_of_the_standard)
{
	static const struct {
		int64_t second;
		const char *code;
	} vectors[] = {
		{ 59, "287082" },         { 1111111109, "081804" }, { 1111111111, "050471" },
		{ 1234567890, "005924" }, { 2000000000, "279037" }, { 20000000000, "353130" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		int64_t at = vectors[i].second, step = 0;
		for (int64_t late = -SECOND_FACTOR_STEP_S; late <= SECOND_FACTOR_STEP_S;
		     late += SECOND_FACTOR_STEP_S) {
			assert_int_equal(second_factor_step(secret, vectors[i].code,
			                                    (at + late) * CLOCK_US_PER_S, &step),
			                 OK);
			assert_int_equal(step, at / SECOND_FACTOR_STEP_S);
		}
		assert_int_equal(second_factor_step(secret, vectors[i].code,
		                                    (at + 60) * CLOCK_US_PER_S, &step),
		                 ERR_NOT_FOUND);
	}
}

TEST_CASE(reads_codes_as_people_type_them)
{
	struct second_factor_code code, same;
	assert_int_equal(second_factor_parse(" 012-345 ", &code), OK);
	assert_false(code.is_recovery);
	assert_string_equal(code.digits, "012345");
	assert_int_equal(second_factor_parse("01ab-cdef-ghjk-mnpq", &code), OK);
	assert_true(code.is_recovery);
	assert_int_equal(second_factor_parse("OI AB CDEFGHJKMNPQ", &same), OK);
	assert_memory_equal(code.hash, same.hash, DIGEST_SIZE);
}

TEST_CASE(refuses_what_is_no_code)
{
	static const char *const texts[] = {
		"",       "12345",   "1234567",          "12345x",
		"+12345", "------",  "01abcdefghjkmnp",  "u1abcdefghjkmnpq",
		"1.2345", "12345\t", "01abcdefghjkmnpq0"
	};
	struct second_factor_code code;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(second_factor_parse(texts[i], &code), ERR_INVALID);
}

TEST_CASE(writes_an_address_that_apps_read)
{
	struct strbuf url;
	strbuf_init(&url, 1024);
	second_factor_url("wm.example:8443", "a&b?c#d/e%f+g@h.example", "ABC", &url);
	assert_int_equal(strbuf_status(&url), OK);
	assert_string_equal(url.data,
	                    "otpauth://totp/wm.example%3A8443:a%26b%3Fc%23d%2Fe%25f%2Bg%40h.example"
	                    "?secret=ABC&issuer=wm.example%3A8443");
	strbuf_clear(&url);
}

TEST_MAIN()
