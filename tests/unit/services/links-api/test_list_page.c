#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/lists/list_page.h"

#define HEAD_BYTES 13 /* form, total, count */

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
	snprintf(link->entry.original_url, sizeof(link->entry.original_url), "https://example.com/%d", (int)id);
	snprintf(link->entry.expired_url, sizeof(link->entry.expired_url), "https://example.com/over");
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

static void assert_comes_back(size_t count, int64_t total)
{
	struct list_page page, back;
	struct strbuf bytes;
	make_page(&page, count, total);
	encode(&page, &bytes);
	list_page_init(&back, count);
	assert_int_equal(list_page_decode(bytes.data, bytes.len, &back), OK);
	assert_int_equal(back.count, count);
	assert_int_equal(back.total, total);
	if (count > 0)
		assert_memory_equal(back.links, page.links, count * sizeof(*page.links));
	strbuf_clear(&bytes);
	list_page_clear(&page);
	list_page_clear(&back);
}

static void reads_back_what_it_wrote(void **state)
{
	(void)state;
	assert_comes_back(0, 0);
	assert_comes_back(1, 1);
	assert_comes_back(3, INT64_MAX);
}

static enum err decode_exactly(const void *bytes, size_t len, size_t room)
{
	/* A copy that is exactly as large, so that a byte read too far is seen. */
	struct list_page back;
	char *copy = mem_copy(bytes, len);
	list_page_init(&back, room);
	enum err err = list_page_decode(copy, len, &back);
	if (err != OK)
		assert_int_equal(back.count, 0);
	list_page_clear(&back);
	free(copy);
	return err;
}

static void refuses_every_cut_of_a_page_and_what_follows_it(void **state)
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

static void refuses_a_page_with_another(size_t offset, char value)
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

static void refuses_another_form_and_numbers_that_cannot_be(void **state)
{
	(void)state;
	refuses_a_page_with_another(0, 2);                   /* form */
	refuses_a_page_with_another(1, '\x80');              /* a negative total */
	refuses_a_page_with_another(8, 1);                   /* fewer in all than here */
	refuses_a_page_with_another(9, '\xff');              /* count */
	refuses_a_page_with_another(12, 1);                  /* count: a link is left over */
	refuses_a_page_with_another(HEAD_BYTES, '\xff');     /* a link's length */
	refuses_a_page_with_another(HEAD_BYTES + 4, '\x00'); /* its first tag */
	assert_int_equal(decode_exactly("garbage", 7, 2), ERR_INVALID);
}

static void refuses_more_links_than_there_is_room_for(void **state)
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

static void refuses_to_write_a_page_that_is_too_big(void **state)
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
		cmocka_unit_test(reads_back_what_it_wrote),
		cmocka_unit_test(refuses_every_cut_of_a_page_and_what_follows_it),
		cmocka_unit_test(refuses_another_form_and_numbers_that_cannot_be),
		cmocka_unit_test(refuses_more_links_than_there_is_room_for),
		cmocka_unit_test(refuses_to_write_a_page_that_is_too_big),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
