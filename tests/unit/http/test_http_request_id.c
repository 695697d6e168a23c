#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/http/http_internal.h"
#include "tests/support/test.h"

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

TEST_CASE(never_repeats_an_id)
{
	enum { COUNT = 50000, SIZE = HTTP_REQUEST_ID_LEN + 1 };
	struct http_request_id_source first, second;
	http_request_id_init(&first);
	http_request_id_init(&second);
	char *ids = mem_array(2 * COUNT, SIZE);
	for (size_t i = 0; i < COUNT; i++) {
		http_request_id_next(&first, ids + (2 * i) * SIZE);
		http_request_id_next(&second, ids + (2 * i + 1) * SIZE);
		assert_true(http_request_id_is_valid(ids + 2 * i * SIZE));
	}
	qsort(ids, 2 * COUNT, SIZE, compare);
	for (size_t i = 1; i < 2 * COUNT; i++)
		assert_string_not_equal(ids + (i - 1) * SIZE, ids + i * SIZE);
	free(ids);
}

TEST_CASE(accepts_only_short_plain_ids)
{
	char longest[HTTP_REQUEST_ID_LEN_MAX + 2];
	memset(longest, 'x', sizeof(longest));
	longest[HTTP_REQUEST_ID_LEN_MAX] = '\0';
	assert_true(http_request_id_is_valid(longest));
	longest[HTTP_REQUEST_ID_LEN_MAX] = 'x';
	longest[HTTP_REQUEST_ID_LEN_MAX + 1] = '\0';
	assert_false(http_request_id_is_valid(longest));
	assert_true(http_request_id_is_valid("A.b_9-"));
	static const char *const wrong[] = { "",    " ",  "a b", "a\n", "a;b", "\303\244",
		                             "a/b", "{}", "@",   "[",   "`" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(http_request_id_is_valid(wrong[i]));
}

TEST_MAIN()
