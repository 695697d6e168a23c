#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdio.h>

#include "services/links-api/links/link_change.h"

#define NOW_US INT64_C(1795161600000000)

static struct link link_in(enum link_state state, int64_t expires_at_us)
{
	struct link link = {
		.entry = { .id = 1,
		           .version = 1,
		           .state = state,
		           .redirect_status = 302,
		           .expires_at_us = expires_at_us },
		.type = LINK_TYPE_PERMANENT,
		.owner_id = 1,
	};
	snprintf(link.entry.original_url, sizeof(link.entry.original_url), "https://example.com/");
	return link;
}

static struct link_request wish_for_state(enum link_state state)
{
	return (struct link_request){ .members = LINK_REQUEST_STATE, .state = state };
}

static struct link_request wish_for_expiry(int64_t expires_at_us)
{
	return (struct link_request){ .members = LINK_REQUEST_EXPIRES_AT, .expires_at_us = expires_at_us };
}

static enum link_change edit(struct link *link, const struct link_request *wish)
{
	enum link_change change;
	struct link_change_refusal refusal = { 0 };
	assert_int_equal(link_change_edit(wish, NOW_US, link, &change, &refusal), OK);
	return change;
}

static void writes_only_the_members_that_were_there(void **state)
{
	(void)state;
	struct link link = link_in(LINK_STATE_ACTIVE, NOW_US + 1);
	struct link_request wish = { .members = LINK_REQUEST_TITLE, .title = "new", .redirect_status = 301 };
	assert_int_equal(edit(&link, &wish), LINK_CHANGE_UPDATED);
	assert_string_equal(link.title, "new");
	assert_int_equal(link.entry.redirect_status, 302);
	assert_int_equal(link.entry.expires_at_us, NOW_US + 1);
	assert_string_equal(link.entry.original_url, "https://example.com/");
}

static void a_temporary_link_keeps_an_end(void **state)
{
	(void)state;
	struct link link = link_in(LINK_STATE_ACTIVE, NOW_US + 1);
	link.type = LINK_TYPE_TEMPORARY;
	struct link_request wish = wish_for_expiry(0);
	struct link_change_refusal refusal = { 0 };
	enum link_change change;
	assert_int_equal(link_change_edit(&wish, NOW_US, &link, &change, &refusal), ERR_CONFLICT);
	assert_string_equal(refusal.pointer, "/expires_at");
	assert_int_equal(link.entry.expires_at_us, NOW_US + 1);
	wish = wish_for_expiry(NOW_US + 2);
	assert_int_equal(edit(&link, &wish), LINK_CHANGE_UPDATED);
}

static void what_changes_nothing_is_no_change(void **state)
{
	(void)state;
	struct link link = link_in(LINK_STATE_ACTIVE, 0);
	struct link_request wish = { 0 };
	assert_int_equal(edit(&link, &wish), LINK_CHANGE_NOTHING);
	wish = wish_for_state(LINK_STATE_ACTIVE);
	assert_int_equal(edit(&link, &wish), LINK_CHANGE_NOTHING);
	wish = (struct link_request){ .members = LINK_REQUEST_TAGS, .tags = { 1, { "a" } } };
	assert_int_equal(edit(&link, &wish), LINK_CHANGE_UPDATED);
	assert_int_equal(edit(&link, &wish), LINK_CHANGE_NOTHING);
}

static void names_disabling_and_enabling(void **state)
{
	(void)state;
	struct link link = link_in(LINK_STATE_ACTIVE, 0);
	struct link_request off = wish_for_state(LINK_STATE_DISABLED);
	struct link_request on = wish_for_state(LINK_STATE_ACTIVE);
	assert_int_equal(edit(&link, &off), LINK_CHANGE_DISABLED);
	assert_int_equal(link.entry.state, LINK_STATE_DISABLED);
	assert_int_equal(edit(&link, &on), LINK_CHANGE_ENABLED);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);
}

static void a_later_time_brings_an_expired_link_back(void **state)
{
	(void)state;
	struct link link = link_in(LINK_STATE_EXPIRED, NOW_US - 1);
	struct link_request later = wish_for_expiry(NOW_US + 1);
	assert_int_equal(edit(&link, &later), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);

	link = link_in(LINK_STATE_EXPIRED, NOW_US - 1);
	struct link_request never = wish_for_expiry(0);
	assert_int_equal(edit(&link, &never), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);
}

static void a_new_title_alone_leaves_an_expired_link_expired(void **state)
{
	(void)state;
	struct link link = link_in(LINK_STATE_EXPIRED, NOW_US - 1);
	struct link_request wish = { .members = LINK_REQUEST_TITLE, .title = "new" };
	assert_int_equal(edit(&link, &wish), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.state, LINK_STATE_EXPIRED);
}

static void active_alone_cannot_bring_an_expired_link_back(void **state)
{
	(void)state;
	static const enum link_state stored[] = { LINK_STATE_ACTIVE, LINK_STATE_EXPIRED, LINK_STATE_DISABLED };
	struct link_request wish = wish_for_state(LINK_STATE_ACTIVE);
	for (size_t i = 0; i < 3; i++) {
		struct link link = link_in(stored[i], NOW_US);
		enum link_change change;
		struct link_change_refusal refusal = { 0 };
		assert_int_equal(link_change_edit(&wish, NOW_US, &link, &change, &refusal), ERR_CONFLICT);
		assert_string_equal(refusal.pointer, "/state");
		assert_int_equal(link.entry.state, stored[i]);
	}
}

static void deletes_once_and_restores_once(void **state)
{
	(void)state;
	struct link link = link_in(LINK_STATE_DISABLED, 0);
	enum link_change change;
	struct link_change_refusal refusal = { 0 };
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &refusal), ERR_CONFLICT);
	assert_non_null(refusal.detail);
	assert_int_equal(link_change_delete(NULL, NOW_US, &link, &change, &refusal), OK);
	assert_int_equal(change, LINK_CHANGE_DELETED);
	assert_int_equal(link.entry.state, LINK_STATE_DELETED);
	assert_int_equal(link_change_delete(NULL, NOW_US, &link, &change, &refusal), ERR_NOT_FOUND);
	struct link_request wish = { 0 };
	assert_int_equal(link_change_edit(&wish, NOW_US, &link, &change, &refusal), ERR_NOT_FOUND);
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &refusal), OK);
	assert_int_equal(change, LINK_CHANGE_RESTORED);
	assert_int_equal(link.entry.state, LINK_STATE_DISABLED);
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &refusal), ERR_CONFLICT);
}

static void restores_a_link_as_it_was(void **state)
{
	(void)state;
	static const enum link_state before[] = { LINK_STATE_ACTIVE, LINK_STATE_DISABLED, LINK_STATE_EXPIRED };
	for (size_t i = 0; i < 3; i++) {
		struct link link = link_in(before[i], 0);
		enum link_change change;
		struct link_change_refusal refusal = { 0 };
		assert_int_equal(link_change_delete(NULL, NOW_US, &link, &change, &refusal), OK);
		assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &refusal), OK);
		assert_int_equal(link.entry.state, before[i]);
	}
	/* Deleted before anybody wrote down what it was. */
	struct link link = link_in(LINK_STATE_DELETED, 0);
	enum link_change change;
	struct link_change_refusal refusal = { 0 };
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &refusal), OK);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_only_the_members_that_were_there),
		cmocka_unit_test(a_temporary_link_keeps_an_end),
		cmocka_unit_test(what_changes_nothing_is_no_change),
		cmocka_unit_test(names_disabling_and_enabling),
		cmocka_unit_test(a_later_time_brings_an_expired_link_back),
		cmocka_unit_test(a_new_title_alone_leaves_an_expired_link_expired),
		cmocka_unit_test(active_alone_cannot_bring_an_expired_link_back),
		cmocka_unit_test(deletes_once_and_restores_once),
		cmocka_unit_test(restores_a_link_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
