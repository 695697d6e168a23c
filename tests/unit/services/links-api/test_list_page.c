#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/lists/list_page.h"
#include "tests/support/test.h"

#define HEAD_BYTES 13 /* version, total, count */

static void fill(char *text, char c, size_t len)
{
	memset(text, c, len);
	text[len] = '\0';
}

static void make_link(struct link *link, int64_t id)
{
	link->entry.id = id;
	link->entry.version = 3;
	link->entry.state = LINK_STATE_DISABLED;
	link->entry.redirect_status = 307;
	link->entry.expires_at_us = 1700000000000002;
	snprintf(link->entry.slug, sizeof(link->entry.slug), "slug-%d", (int)id);
	snprintf(link->entry.original_url, sizeof(link->entry.original_url),
	         "https://example.com/%d", (int)id);
	snprintf(link->entry.expired_url, sizeof(link->entry.expired_url),
	         "https://example.com/over");
	link->type = LINK_TYPE_PERMANENT;
	link->owner_id = 7;
	snprintf(link->title, sizeof(link->title), "\xc3\x9c");
	link->tags.count = 2;
	snprintf(link->tags.tag[0], sizeof(link->tags.tag[0]), "a");
	snprintf(link->tags.tag[1], sizeof(link->tags.tag[1]), "b c");
	link->created_at_us = 1700000000000000;
	link->updated_at_us = 1700000000000001;
}

static void make_page(struct list_page *page, size_t count, int64_t total)
{
	list_page_init(page, count + 1);
	for (size_t i = 0; i < count; i++)
		make_link(&page->links[i], (int64_t)i + 1);
	page->count = count;
	page->total = total;
}

static void encode(const struct list_page *page, struct strbuf *out)
{
	strbuf_init(out, LIST_PAGE_BYTES_MAX);
	list_page_encode(page, out);
	assert_int_equal(strbuf_status(out), OK);
}

static void assert_round_trip(size_t count, int64_t total)
{
	struct list_page page, decoded;
	struct strbuf bytes;
	make_page(&page, count, total);
	encode(&page, &bytes);
	list_page_init(&decoded, count);
	assert_int_equal(list_page_decode(bytes.data, bytes.len, &decoded), OK);
	assert_int_equal(decoded.count, count);
	assert_int_equal(decoded.total, total);
	if (count > 0)
		assert_memory_equal(decoded.links, page.links, count * sizeof(*page.links));
	strbuf_clear(&bytes);
	list_page_clear(&page);
	list_page_clear(&decoded);
}

static void decodes_what_it_encoded(void **state)
{
	(void)state;
	assert_round_trip(0, 0);
	assert_round_trip(1, 1);
	assert_round_trip(3, INT64_MAX);
}

static enum err decode_exactly(const void *bytes, size_t len, size_t room)
{
	/* A copy of exactly this size, so that ASan sees an out-of-bounds read. */
	struct list_page decoded;
	char *copy = mem_copy(bytes, len);
	list_page_init(&decoded, room);
	enum err err = list_page_decode(copy, len, &decoded);
	if (err != OK)
		assert_int_equal(decoded.count, 0);
	list_page_clear(&decoded);
	free(copy);
	return err;
}

static void rejects_truncated_pages_and_trailing_bytes(void **state)
{
	(void)state;
	struct list_page page;
	struct strbuf bytes;
	make_page(&page, 2, 2);
	encode(&page, &bytes);
	for (size_t len = 0; len < bytes.len; len++)
		assert_int_equal(decode_exactly(bytes.data, len, 2), ERR_INVALID);
	assert_int_equal(decode_exactly(bytes.data, bytes.len, 2), OK);
	strbuf_add_char(&bytes, '\0');
	assert_int_equal(decode_exactly(bytes.data, bytes.len, 2), ERR_INVALID);
	strbuf_clear(&bytes);
	list_page_clear(&page);
}

static void assert_rejects_byte(size_t offset, char value)
{
	struct list_page page;
	struct strbuf bytes;
	make_page(&page, 2, 2);
	encode(&page, &bytes);
	assert_int_not_equal(bytes.data[offset], value);
	bytes.data[offset] = value;
	assert_int_equal(decode_exactly(bytes.data, bytes.len, 2), ERR_INVALID);
	strbuf_clear(&bytes);
	list_page_clear(&page);
}

static void rejects_another_version_and_impossible_numbers(void **state)
{
	(void)state;
	assert_rejects_byte(0, 2);                   /* version */
	assert_rejects_byte(1, '\x80');              /* a negative total */
	assert_rejects_byte(8, 1);                   /* total below count */
	assert_rejects_byte(9, '\xff');              /* count */
	assert_rejects_byte(12, 1);                  /* count: a link is left over */
	assert_rejects_byte(HEAD_BYTES, '\xff');     /* a link's length */
	assert_rejects_byte(HEAD_BYTES + 4, '\x00'); /* its first tag */
	assert_int_equal(decode_exactly("garbage", 7, 2), ERR_INVALID);
}

static void rejects_more_links_than_fit(void **state)
{
	(void)state;
	struct list_page page;
	struct strbuf bytes;
	make_page(&page, 2, 2);
	encode(&page, &bytes);
	assert_int_equal(decode_exactly(bytes.data, bytes.len, 1), ERR_INVALID);
	strbuf_clear(&bytes);
	list_page_clear(&page);
}

static void reports_a_page_that_is_too_large(void **state)
{
	(void)state;
	struct list_page page;
	struct strbuf bytes;
	make_page(&page, 100, 100);
	for (size_t i = 0; i < page.count; i++) {
		fill(page.links[i].entry.original_url, 'u', LINK_URL_MAX);
		fill(page.links[i].entry.expired_url, 'e', LINK_URL_MAX);
	}
	strbuf_init(&bytes, LIST_PAGE_BYTES_MAX);
	list_page_encode(&page, &bytes);
	assert_int_equal(strbuf_status(&bytes), ERR_LIMIT);
	strbuf_clear(&bytes);
	list_page_clear(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_what_it_encoded),
		cmocka_unit_test(rejects_truncated_pages_and_trailing_bytes),
		cmocka_unit_test(rejects_another_version_and_impossible_numbers),
		cmocka_unit_test(rejects_more_links_than_fit),
		cmocka_unit_test(reports_a_page_that_is_too_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
