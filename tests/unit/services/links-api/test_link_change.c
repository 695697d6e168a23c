#include <stdint.h>
#include <stdio.h>

#include "services/links-api/links/link_change.h"
#include "tests/support/test.h"

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
		.workspace_id = 1,
	};
	snprintf(link.entry.original_url, sizeof(link.entry.original_url), "https://example.com/");
	return link;
}

static struct link_request request_state(enum link_state state)
{
	return (struct link_request){ .members = LINK_REQUEST_STATE, .state = state };
}

static struct link_request request_expiry(int64_t expires_at_us)
{
	return (struct link_request){ .members = LINK_REQUEST_EXPIRES_AT,
		                      .expires_at_us = expires_at_us };
}

static enum link_change edit(struct link *link, const struct link_request *request)
{
	enum link_change change;
	struct link_change_conflict conflict = { 0 };
	assert_int_equal(link_change_edit(request, NOW_US, link, &change, &conflict), OK);
	return change;
}

TEST_CASE(edits_only_the_members_of_the_request)
{
	struct link link = link_in(LINK_STATE_ACTIVE, NOW_US + 1);
	struct link_request request = { .members = LINK_REQUEST_TITLE,
		                        .title = "new",
		                        .redirect_status = 301 };
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
	assert_string_equal(link.title, "new");
	assert_int_equal(link.entry.redirect_status, 302);
	assert_int_equal(link.entry.expires_at_us, NOW_US + 1);
	assert_string_equal(link.entry.original_url, "https://example.com/");
}

TEST_CASE(a_new_slug_is_a_change_and_the_same_one_is_none)
{
	struct link link = link_in(LINK_STATE_ACTIVE, 0);
	struct link_request request = { .members = LINK_REQUEST_SLUG,
		                        .slug = "summer",
		                        .is_slug_exact = true };
	snprintf(link.entry.slug, sizeof(link.entry.slug), "summer");
	assert_int_equal(edit(&link, &request), LINK_CHANGE_NOTHING);
	assert_false(link.entry.is_slug_exact);
	snprintf(link.entry.slug, sizeof(link.entry.slug), "Summer");
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
	assert_string_equal(link.entry.slug, "summer");
	assert_true(link.entry.is_slug_exact);
	request = (struct link_request){ .members = LINK_REQUEST_EXTERNAL_ID, .external_id = "a" };
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
	assert_string_equal(link.external_id, "a");
	assert_int_equal(edit(&link, &request), LINK_CHANGE_NOTHING);
}

TEST_CASE(a_temporary_link_must_keep_an_expiry_time)
{
	struct link link = link_in(LINK_STATE_ACTIVE, NOW_US + 1);
	link.type = LINK_TYPE_TEMPORARY;
	struct link_request request = request_expiry(0);
	struct link_change_conflict conflict = { 0 };
	enum link_change change;
	assert_int_equal(link_change_edit(&request, NOW_US, &link, &change, &conflict),
	                 ERR_CONFLICT);
	assert_string_equal(conflict.pointer, "/expires_at");
	assert_int_equal(link.entry.expires_at_us, NOW_US + 1);
	request = request_expiry(NOW_US + 2);
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
}

TEST_CASE(an_edit_without_effect_is_not_a_change)
{
	struct link link = link_in(LINK_STATE_ACTIVE, 0);
	struct link_request request = { 0 };
	assert_int_equal(edit(&link, &request), LINK_CHANGE_NOTHING);
	request = request_state(LINK_STATE_ACTIVE);
	assert_int_equal(edit(&link, &request), LINK_CHANGE_NOTHING);
	request = (struct link_request){ .members = LINK_REQUEST_TAGS, .tags = { 1, { "a" } } };
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
	assert_int_equal(edit(&link, &request), LINK_CHANGE_NOTHING);
}

TEST_CASE(adds_and_removes_tags_and_keeps_the_others)
{
	struct link link = link_in(LINK_STATE_ACTIVE, 0);
	link.tags = (struct link_tags){ .count = 3, .tag = { "a", "b", "c" } };
	struct link_tags removed = { .count = 2, .tag = { "b", "missing" } };
	struct link_request request = { .members = LINK_REQUEST_ADD_TAGS | LINK_REQUEST_REMOVE_TAGS,
		                        .tags = { .count = 2, .tag = { "a", "d" } },
		                        .removed_tags = &removed };
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
	assert_int_equal(link.tags.count, 3);
	assert_string_equal(link.tags.tag[0], "a");
	assert_string_equal(link.tags.tag[1], "c");
	assert_string_equal(link.tags.tag[2], "d");
	assert_int_equal(edit(&link, &request), LINK_CHANGE_NOTHING);
}

TEST_CASE(no_link_gets_more_tags_than_allowed)
{
	struct link link = link_in(LINK_STATE_ACTIVE, 0);
	struct link_request request = { .members = LINK_REQUEST_ADD_TAGS,
		                        .tags = { .count = 1, .tag = { "19" } } };
	struct link_change_conflict conflict = { 0 };
	enum link_change change;
	for (; link.tags.count < LINK_TAGS_MAX; link.tags.count++)
		snprintf(link.tags.tag[link.tags.count], LINK_TAG_SIZE, "%zu", link.tags.count);
	assert_int_equal(edit(&link, &request), LINK_CHANGE_NOTHING);
	snprintf(request.tags.tag[0], LINK_TAG_SIZE, "one more");
	assert_int_equal(link_change_edit(&request, NOW_US, &link, &change, &conflict),
	                 ERR_CONFLICT);
	assert_string_equal(conflict.pointer, "/add_tags");
	assert_int_equal(link.tags.count, LINK_TAGS_MAX);
}

TEST_CASE(records_disabling_and_enabling_as_such)
{
	struct link link = link_in(LINK_STATE_ACTIVE, 0);
	struct link_request off = request_state(LINK_STATE_DISABLED);
	struct link_request on = request_state(LINK_STATE_ACTIVE);
	assert_int_equal(edit(&link, &off), LINK_CHANGE_DISABLED);
	assert_int_equal(link.entry.state, LINK_STATE_DISABLED);
	assert_int_equal(edit(&link, &on), LINK_CHANGE_ENABLED);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);
}

TEST_CASE(a_later_expiry_time_reactivates_an_expired_link)
{
	struct link link = link_in(LINK_STATE_EXPIRED, NOW_US - 1);
	struct link_request later = request_expiry(NOW_US + 1);
	assert_int_equal(edit(&link, &later), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);

	link = link_in(LINK_STATE_EXPIRED, NOW_US - 1);
	struct link_request never = request_expiry(0);
	assert_int_equal(edit(&link, &never), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);
}

TEST_CASE(a_new_title_alone_leaves_an_expired_link_expired)
{
	struct link link = link_in(LINK_STATE_EXPIRED, NOW_US - 1);
	struct link_request request = { .members = LINK_REQUEST_TITLE, .title = "new" };
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.state, LINK_STATE_EXPIRED);
}

TEST_CASE(state_active_alone_cannot_reactivate_an_expired_link)
{
	static const enum link_state stored[] = { LINK_STATE_ACTIVE, LINK_STATE_EXPIRED,
		                                  LINK_STATE_DISABLED };
	struct link_request request = request_state(LINK_STATE_ACTIVE);
	for (size_t i = 0; i < 3; i++) {
		struct link link = link_in(stored[i], NOW_US);
		enum link_change change;
		struct link_change_conflict conflict = { 0 };
		assert_int_equal(link_change_edit(&request, NOW_US, &link, &change, &conflict),
		                 ERR_CONFLICT);
		assert_string_equal(conflict.pointer, "/state");
		assert_int_equal(link.entry.state, stored[i]);
	}
}

static void assert_start_refused(struct link *link, const struct link_request *request,
                                 const char *pointer)
{
	struct link before = *link;
	enum link_change change;
	struct link_change_conflict conflict = { 0 };
	assert_int_equal(link_change_edit(request, NOW_US, link, &change, &conflict), ERR_CONFLICT);
	assert_string_equal(conflict.pointer, pointer);
	assert_memory_equal(link, &before, sizeof(before));
}

TEST_CASE(a_start_moves_freely_but_stays_before_the_end)
{
	struct link link = link_in(LINK_STATE_ACTIVE, NOW_US + 10);
	struct link_request start = { .members = LINK_REQUEST_STARTS_AT,
		                      .starts_at_us = NOW_US + 9 };
	assert_int_equal(edit(&link, &start), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.starts_at_us, NOW_US + 9);
	assert_int_equal(edit(&link, &start), LINK_CHANGE_NOTHING);
	start.starts_at_us = NOW_US + 10;
	assert_start_refused(&link, &start, "/starts_at");
	struct link_request end = request_expiry(NOW_US + 9);
	assert_start_refused(&link, &end, "/expires_at");
	end = request_expiry(0);
	assert_int_equal(edit(&link, &end), LINK_CHANGE_UPDATED);
	assert_int_equal(edit(&link, &start), LINK_CHANGE_UPDATED);
	start.starts_at_us = 0;
	assert_int_equal(edit(&link, &start), LINK_CHANGE_UPDATED);
	assert_int_equal(link.entry.starts_at_us, 0);
}

TEST_CASE(a_title_changes_whatever_the_times_are)
{
	struct link link = link_in(LINK_STATE_ACTIVE, NOW_US + 1);
	link.entry.starts_at_us = NOW_US + 1;
	struct link_request request = { .members = LINK_REQUEST_TITLE, .title = "new" };
	assert_int_equal(edit(&link, &request), LINK_CHANGE_UPDATED);
}

TEST_CASE(a_temporary_link_has_no_start)
{
	struct link link = link_in(LINK_STATE_ACTIVE, NOW_US + 10);
	link.type = LINK_TYPE_TEMPORARY;
	struct link_request start = { .members = LINK_REQUEST_STARTS_AT, .starts_at_us = NOW_US };
	assert_start_refused(&link, &start, "/starts_at");
}

TEST_CASE(deletes_once_and_restores_once)
{
	struct link link = link_in(LINK_STATE_DISABLED, 0);
	enum link_change change;
	struct link_change_conflict conflict = { 0 };
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &conflict),
	                 ERR_CONFLICT);
	assert_non_null(conflict.detail);
	assert_int_equal(link_change_delete(NULL, NOW_US, &link, &change, &conflict), OK);
	assert_int_equal(change, LINK_CHANGE_DELETED);
	assert_int_equal(link.entry.state, LINK_STATE_DELETED);
	assert_int_equal(link_change_delete(NULL, NOW_US, &link, &change, &conflict),
	                 ERR_NOT_FOUND);
	struct link_request request = { 0 };
	assert_int_equal(link_change_edit(&request, NOW_US, &link, &change, &conflict),
	                 ERR_NOT_FOUND);
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &conflict), OK);
	assert_int_equal(change, LINK_CHANGE_RESTORED);
	assert_int_equal(link.entry.state, LINK_STATE_DISABLED);
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &conflict),
	                 ERR_CONFLICT);
}

TEST_CASE(restores_a_link_to_its_previous_state)
{
	static const enum link_state before[] = { LINK_STATE_ACTIVE, LINK_STATE_DISABLED,
		                                  LINK_STATE_EXPIRED };
	for (size_t i = 0; i < 3; i++) {
		struct link link = link_in(before[i], 0);
		enum link_change change;
		struct link_change_conflict conflict = { 0 };
		assert_int_equal(link_change_delete(NULL, NOW_US, &link, &change, &conflict), OK);
		assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &conflict), OK);
		assert_int_equal(link.entry.state, before[i]);
	}
	/* Deleted before state_before_deletion was recorded. */
	struct link link = link_in(LINK_STATE_DELETED, 0);
	enum link_change change;
	struct link_change_conflict conflict = { 0 };
	assert_int_equal(link_change_restore(NULL, NOW_US, &link, &change, &conflict), OK);
	assert_int_equal(link.entry.state, LINK_STATE_ACTIVE);
}

TEST_CASE(retags_in_place_and_never_twice)
{
	struct link link = link_in(LINK_STATE_DELETED, 0);
	link.tags = (struct link_tags){ .count = 3, .tag = { "a", "b", "c" } };
	assert_false(link_change_retag(&link, "x", "a"));
	assert_true(link_change_retag(&link, "b", "x"));
	assert_string_equal(link.tags.tag[1], "x");
	assert_true(link_change_retag(&link, "a", "c"));
	assert_int_equal(link.tags.count, 2);
	assert_string_equal(link.tags.tag[0], "x");
	assert_string_equal(link.tags.tag[1], "c");
	assert_true(link_change_retag(&link, "c", NULL));
	assert_true(link_change_retag(&link, "x", NULL));
	assert_int_equal(link.tags.count, 0);
	assert_int_equal(link.entry.state, LINK_STATE_DELETED);
}

TEST_MAIN()
