#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/links-api/links/link_request.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/json_fixture.h"

#define NOW_US INT64_C(1795161600000000) /* 2026-11-20T08:00:00Z */

static struct public_base base;
static struct link_request request;
static struct http_problem_fields wrong;

static int make_base(void **state)
{
	(void)state;
	base = json_fixture_base();
	return 0;
}

static int clear(void **state)
{
	(void)state;
	link_request_clear(&request);
	return 0;
}

static enum err read_json(enum link_request_kind kind, const char *text)
{
	struct json *json = json_fixture_parse(text);
	wrong.count = 0;
	link_request_clear(&request);
	enum err err = link_request_read(json, kind, &base, NOW_US, &request, &wrong);
	json_free(json);
	return err;
}

/* A valid link with one more member. */
static enum err read_with(enum link_request_kind kind, const char *member)
{
	char text[8192];
	snprintf(text, sizeof(text), "{\"original_url\":\"https://example.com/\",%s}", member);
	return read_json(kind, text);
}

static void assert_rejects(enum link_request_kind kind, const char *member, const char *pointer)
{
	if (read_with(kind, member) != ERR_INVALID)
		fail_msg("accepted: %s", member);
	if (!json_fixture_names(&wrong, pointer) || wrong.count != 1)
		fail_msg("%s: %zu wrong, the first is %s", member, wrong.count,
		         wrong.field[0].pointer);
}

TEST_CASE(reads_a_link_with_all_members)
{
	assert_int_equal(
		read_json(
			LINK_REQUEST_CREATE,
			"{\"original_url\":\"HTTP://Example.com\",\"slug\":\"a_B-9\",\"redirect_status\":308,"
			"\"expires_at\":\"2026-11-20T09:00:00.5+01:00\",\"expired_url\":\"http://b.example\","
			"\"title\":\"Ä\",\"tags\":[\"x\",\"y\"]}"),
		OK);
	assert_string_equal(request.original_url, "http://example.com/");
	assert_string_equal(request.slug, "a_B-9");
	assert_int_equal(request.redirect_status, 308);
	assert_int_equal(request.expires_at_us, NOW_US + INT64_C(500000));
	assert_string_equal(request.expired_url, "http://b.example/");
	assert_string_equal(request.title, "Ä");
	assert_int_equal(request.tags.count, 2);
	assert_string_equal(request.tags.tag[1], "y");
}

TEST_CASE(reports_all_invalid_members_at_once)
{
	assert_int_equal(
		read_json(
			LINK_REQUEST_CREATE,
			"{\"original_url\":\"javascript:alert(1)\",\"slug\":\"a b\",\"redirect_status\":418,"
			"\"expires_at\":\"soon\",\"expired_url\":7,\"title\":[],\"tags\":[\"\",5],"
			"\"state\":\"active\",\"a/b~c\":1}"),
		ERR_INVALID);
	static const char *const pointers[] = {
		"/original_url", "/slug",   "/redirect_status", "/expires_at", "/expired_url",
		"/title",        "/tags/0", "/tags/1",          "/state",      "/a~1b~0c",
	};
	assert_int_equal(wrong.count, sizeof(pointers) / sizeof(pointers[0]));
	for (size_t i = 0; i < wrong.count; i++)
		if (!json_fixture_names(&wrong, pointers[i]))
			fail_msg("%s is not reported", pointers[i]);
}

TEST_CASE(says_that_a_tag_is_given_twice)
{
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{\"tags\":[\"a\",\"b\",\"a\"]}"),
	                 ERR_INVALID);
	assert_int_equal(wrong.count, 1);
	assert_string_equal(wrong.field[0].pointer, "/tags/2");
	assert_string_equal(wrong.field[0].detail, "is given twice");
}

TEST_CASE(requires_a_url_to_create_a_link_and_nothing_to_change_one)
{
	assert_int_equal(read_json(LINK_REQUEST_CREATE, "{}"), ERR_INVALID);
	assert_true(json_fixture_names(&wrong, "/original_url"));
	assert_int_equal(read_json(LINK_REQUEST_CREATE_PUBLIC, "{}"), ERR_INVALID);
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{}"), OK);
	assert_int_equal(request.members, 0);
}

TEST_CASE(rejects_urls_of_this_service)
{
	static const char *const urls[] = { "https://wm.example/a", "http://WM.example:81/",
		                            "https://wm.example./" };
	for (size_t i = 0; i < 3; i++) {
		char text[128];
		snprintf(text, sizeof(text), "{\"original_url\":\"%s\",\"expired_url\":\"%s\"}",
		         urls[i], urls[i]);
		assert_int_equal(read_json(LINK_REQUEST_CREATE, text), ERR_INVALID);
		assert_true(json_fixture_names(&wrong, "/original_url") &&
		            json_fixture_names(&wrong, "/expired_url"));
	}
}

TEST_CASE(rejects_malformed_and_reserved_slugs)
{
	static const char *const slugs[] = { "\"\"",    "\"a b\"",  "\"ä\"",  "\"a/b\"", "\"api\"",
		                             "\"API\"", "\"docs\"", "\"a.\"", "7",       "null" };
	for (size_t i = 0; i < sizeof(slugs) / sizeof(slugs[0]); i++) {
		char member[128];
		snprintf(member, sizeof(member), "\"slug\":%s", slugs[i]);
		assert_rejects(LINK_REQUEST_CREATE, member, "/slug");
	}
}

TEST_CASE(accepts_only_the_four_redirect_statuses)
{
	static const char *const invalid[] = { "300",   "303",     "304",  "0",   "-302",
		                               "302.5", "\"302\"", "null", "true" };
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		char member[64];
		snprintf(member, sizeof(member), "\"redirect_status\":%s", invalid[i]);
		assert_rejects(LINK_REQUEST_CREATE, member, "/redirect_status");
	}
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"redirect_status\":307"), OK);
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"redirect_status\":302.0"), OK);
}

TEST_CASE(accepts_only_future_expiry_times)
{
	static const char *const invalid[] = { "\"2026-11-20T08:00:00Z\"",
		                               "\"2020-01-01T00:00:00Z\"",
		                               "\"1970-01-01T00:00:00Z\"",
		                               "\"2026-11-21\"",
		                               "\"2026-11-21T08:00:00\"",
		                               "\"2026-13-01T00:00:00Z\"",
		                               "\"\"",
		                               "1795161601",
		                               "false" };
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		char member[64];
		snprintf(member, sizeof(member), "\"expires_at\":%s", invalid[i]);
		assert_rejects(LINK_REQUEST_CREATE, member, "/expires_at");
	}
	assert_int_equal(
		read_with(LINK_REQUEST_CREATE, "\"expires_at\":\"2026-11-20T08:00:00.001Z\""), OK);
}

TEST_CASE(accepts_a_start_at_any_time_before_the_end)
{
	assert_int_equal(read_with(LINK_REQUEST_CREATE,
	                           "\"starts_at\":\"2026-11-20T08:00:00.001Z\","
	                           "\"expires_at\":\"2026-11-20T08:00:00.002Z\""),
	                 OK);
	assert_int_equal(request.starts_at_us, NOW_US + 1000);
	assert_int_equal(request.members, LINK_REQUEST_ORIGINAL_URL | LINK_REQUEST_STARTS_AT |
	                                          LINK_REQUEST_EXPIRES_AT);
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"starts_at\":\"2001-01-01T00:00:00Z\""),
	                 OK);
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"starts_at\":null"), OK);
	assert_int_equal(request.starts_at_us, 0);
	assert_rejects(LINK_REQUEST_CREATE,
	               "\"starts_at\":\"2026-11-20T08:00:00.002Z\","
	               "\"expires_at\":\"2026-11-20T08:00:00.002Z\"",
	               "/starts_at");
	assert_rejects(LINK_REQUEST_CREATE, "\"starts_at\":\"2026-11-21\"", "/starts_at");
	assert_rejects(LINK_REQUEST_CREATE_PUBLIC, "\"starts_at\":\"2026-11-21T00:00:00Z\"",
	               "/starts_at");
}

TEST_CASE(null_clears_optional_members)
{
	assert_int_equal(
		read_json(LINK_REQUEST_CHANGE, "{\"expires_at\":null,\"expired_url\":null}"), OK);
	assert_int_equal(request.members, LINK_REQUEST_EXPIRES_AT | LINK_REQUEST_EXPIRED_URL);
	assert_int_equal(request.expires_at_us, 0);
	assert_null(request.expired_url);
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{\"title\":null,\"tags\":null}"), OK);
	assert_int_equal(request.members, LINK_REQUEST_TITLE | LINK_REQUEST_TAGS);
	assert_string_equal(request.title, "");
	assert_int_equal(request.tags.count, 0);
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{\"original_url\":null,\"state\":null}"),
	                 ERR_INVALID);
	assert_int_equal(wrong.count, 2);
}

TEST_CASE(limits_titles_by_characters_not_bytes)
{
	char member[2048] = "\"title\":\"";
	for (int i = 0; i < LINK_TITLE_CHARS_MAX; i++)
		memcpy(member + strlen(member), "😀", sizeof("😀"));
	size_t end = strlen(member);
	memcpy(member + end, "\"", 2);
	assert_int_equal(read_with(LINK_REQUEST_CREATE, member), OK);
	assert_int_equal(strlen(request.title), LINK_TITLE_CHARS_MAX * 4);
	memcpy(member + end, "x\"", 3);
	assert_rejects(LINK_REQUEST_CREATE, member, "/title");
	assert_rejects(LINK_REQUEST_CREATE, "\"title\":\"a\\nb\"", "/title");
}

TEST_CASE(limits_tags_and_rejects_duplicates)
{
	assert_rejects(LINK_REQUEST_CREATE, "\"tags\":[\"a\",\"b\",\"a\"]", "/tags/2");
	assert_rejects(LINK_REQUEST_CREATE, "\"tags\":\"a\"", "/tags");
	assert_rejects(LINK_REQUEST_CREATE, "\"tags\":[\"\\u001b\"]", "/tags/0");
	char member[512] = "\"tags\":[\"0\"";
	for (int i = 1; i < LINK_TAGS_MAX; i++)
		snprintf(member + strlen(member), 16, ",\"%d\"", i);
	size_t end = strlen(member);
	memcpy(member + end, "]", 2);
	assert_int_equal(read_with(LINK_REQUEST_CREATE, member), OK);
	memcpy(member + end, ",\"x\"]", 6);
	assert_rejects(LINK_REQUEST_CREATE, member, "/tags");
}

TEST_CASE(tags_are_replaced_or_added_and_removed)
{
	assert_int_equal(read_json(LINK_REQUEST_CHANGE,
	                           "{\"add_tags\":[\"a\"],\"remove_tags\":[\"b\",\"c\"]}"),
	                 OK);
	assert_int_equal(request.members, LINK_REQUEST_ADD_TAGS | LINK_REQUEST_REMOVE_TAGS);
	assert_string_equal(request.tags.tag[0], "a");
	assert_int_equal(request.removed_tags->count, 2);
	assert_string_equal(request.removed_tags->tag[1], "c");
	link_request_clear(&request);
	assert_rejects(LINK_REQUEST_CHANGE, "\"tags\":[\"a\"],\"add_tags\":[\"b\"]", "/tags");
	assert_rejects(LINK_REQUEST_CHANGE, "\"tags\":null,\"remove_tags\":[\"b\"]", "/tags");
	assert_rejects(LINK_REQUEST_CHANGE, "\"remove_tags\":[\"b\",\"b\"]", "/remove_tags/1");
	assert_rejects(LINK_REQUEST_CREATE, "\"add_tags\":[\"b\"]", "/add_tags");
}

TEST_CASE(a_change_can_name_another_slug)
{
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{\"slug\":\"other\"}"), OK);
	assert_int_equal(request.members, LINK_REQUEST_SLUG);
	assert_string_equal(request.slug, "other");
	assert_rejects(LINK_REQUEST_CHANGE, "\"slug\":null", "/slug");
	assert_rejects(LINK_REQUEST_CHANGE, "\"slug\":\"api\"", "/slug");
}

TEST_CASE(an_external_id_is_a_line_that_can_stand_in_a_path)
{
	char id[LINK_EXTERNAL_ID_SIZE];
	char long_id[2 * LINK_EXTERNAL_ID_CHARS_MAX];
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"external_id\":\"a/b ä\""), OK);
	assert_string_equal(request.external_id, "a/b ä");
	link_request_clear(&request);
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{\"external_id\":null}"), OK);
	assert_int_equal(request.members, LINK_REQUEST_EXTERNAL_ID);
	assert_string_equal(request.external_id, "");
	assert_rejects(LINK_REQUEST_CHANGE, "\"external_id\":\"\"", "/external_id");
	assert_rejects(LINK_REQUEST_CHANGE, "\"external_id\":\"..\"", "/external_id");
	assert_rejects(LINK_REQUEST_CHANGE, "\"external_id\":\"a\\u0007\"", "/external_id");
	assert_int_equal(link_request_read_external_id_path("a%2Fb%20%c3%a4+", id), OK);
	assert_string_equal(id, "a/b ä+");
	memset(long_id, 'x', sizeof(long_id));
	long_id[LINK_EXTERNAL_ID_CHARS_MAX] = '\0';
	assert_int_equal(link_request_read_external_id_path(long_id, id), OK);
	long_id[LINK_EXTERNAL_ID_CHARS_MAX] = 'x';
	long_id[LINK_EXTERNAL_ID_CHARS_MAX + 1] = '\0';
	static const char *const bad[] = { "", ".", "..", "a/b", "%", "%00", "%ff", "a%0ab" };
	assert_int_equal(link_request_read_external_id_path(long_id, id), ERR_NOT_FOUND);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(link_request_read_external_id_path(bad[i], id), ERR_NOT_FOUND);
}

TEST_CASE(reads_a_slug_of_a_path_as_visitors_type_it)
{
	char slug[SLUG_SIZE];
	assert_int_equal(link_request_read_slug_path("Sp%72ing", slug), OK);
	assert_string_equal(slug, "Spring");
	static const char *const bad[] = { "", "a.", "a/b", "%C3%A4", "a%00", "a b" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(link_request_read_slug_path(bad[i], slug), ERR_NOT_FOUND);
}

TEST_CASE(reads_notes_of_several_lines_from_owners_only)
{
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"notes\":\"a\\r\\n\\tb\""), OK);
	assert_int_equal(request.members, LINK_REQUEST_ORIGINAL_URL | LINK_REQUEST_NOTES);
	assert_string_equal(request.notes, "a\r\n\tb");
	link_request_clear(&request);
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{\"notes\":null}"), OK);
	assert_int_equal(request.members, LINK_REQUEST_NOTES);
	assert_null(request.notes);
	assert_rejects(LINK_REQUEST_CREATE, "\"notes\":\"\\u001b\"", "/notes");
	assert_rejects(LINK_REQUEST_CREATE, "\"notes\":7", "/notes");
	assert_rejects(LINK_REQUEST_CREATE, "\"notes\":\"a\",\"id\":7", "/id");
	assert_rejects(LINK_REQUEST_CREATE_PUBLIC, "\"notes\":\"a\"", "/notes");
}

TEST_CASE(rejects_members_that_a_request_kind_does_not_allow)
{
	assert_rejects(LINK_REQUEST_CREATE_PUBLIC, "\"expires_at\":\"2026-11-21T00:00:00Z\"",
	               "/expires_at");
	assert_rejects(LINK_REQUEST_CREATE_PUBLIC, "\"external_id\":\"a\"", "/external_id");
	assert_rejects(LINK_REQUEST_CREATE, "\"state\":\"disabled\"", "/state");
	assert_rejects(LINK_REQUEST_CREATE, "\"id\":7", "/id");
	assert_int_equal(read_json(LINK_REQUEST_CHANGE, "{\"state\":\"disabled\"}"), OK);
	assert_int_equal(request.state, LINK_STATE_DISABLED);
	assert_rejects(LINK_REQUEST_CHANGE, "\"state\":\"deleted\"", "/state");
	assert_rejects(LINK_REQUEST_CHANGE, "\"state\":\"ACTIVE\"", "/state");
	assert_rejects(LINK_REQUEST_CHANGE, "\"state\":1", "/state");
}

TEST_CASE(reports_only_as_many_errors_as_fit)
{
	char text[8192] = "{\"original_url\":\"https://example.com/\"";
	for (int i = 0; i < 2 * HTTP_PROBLEM_FIELDS_MAX; i++)
		snprintf(text + strlen(text), 32, ",\"unknown%d\":0", i);
	memcpy(text + strlen(text), "}", 2);
	assert_int_equal(read_json(LINK_REQUEST_CREATE, text), ERR_INVALID);
	assert_int_equal(wrong.count, HTTP_PROBLEM_FIELDS_MAX);
}

TEST_CASE(allows_reuse_only_for_a_new_link_with_an_owner)
{
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"reuse\":true"), OK);
	assert_true(request.reuse);
	assert_int_equal(read_with(LINK_REQUEST_CREATE, "\"reuse\":false"), OK);
	assert_false(request.reuse);
	assert_rejects(LINK_REQUEST_CREATE, "\"reuse\":\"true\"", "/reuse");
	assert_rejects(LINK_REQUEST_CREATE_PUBLIC, "\"reuse\":true", "/reuse");
	assert_rejects(LINK_REQUEST_CHANGE, "\"reuse\":true", "/reuse");
}

TEST_MAIN(.group_set_up = make_base, .tear_down = clear)
