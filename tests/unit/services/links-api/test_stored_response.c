#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/links/stored_response.h"
#include "tests/support/test.h"

TEST_CASE(unpacks_what_it_packed)
{
	struct stored_response original, unpacked;
	struct strbuf packed;
	stored_response_init(&original);
	stored_response_init(&unpacked);
	struct json *body = json_new_object();
	json_set_text(body, "title", "two\nlines");
	assert_int_equal(stored_response_set(&original, 201, body), OK);
	snprintf(original.location, sizeof(original.location), "/api/links/7");
	snprintf(original.etag, sizeof(original.etag), "\"v1\"");
	stored_response_pack(&original, &packed);
	assert_int_equal(stored_response_unpack(packed.data, packed.len, &unpacked), OK);
	assert_int_equal(unpacked.status, 201);
	assert_string_equal(unpacked.location, "/api/links/7");
	assert_string_equal(unpacked.etag, "\"v1\"");
	assert_string_equal(unpacked.body.data, original.body.data);
	strbuf_clear(&packed);
	stored_response_clear(&original);
	stored_response_clear(&unpacked);
}

TEST_CASE(rejects_other_bytes)
{
	static const char *const bad[] = { "",           "201",          "201\n\n",
		                           "99\n\n\n{}", "2010\n\n\n{}", "x\n\n\n{}",
		                           "\n\n\n{}" };
	struct stored_response response;
	stored_response_init(&response);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(stored_response_unpack(bad[i], strlen(bad[i]), &response),
		                 ERR_INVALID);
	assert_int_equal(stored_response_unpack("200\n\n\n", 6, &response), OK);
	assert_string_equal(response.body.data, "");
	stored_response_clear(&response);
}

TEST_MAIN()
