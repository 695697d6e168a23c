#include <stdio.h>
#include <string.h>

#include "services/links-api/links/link_extras_json.h"
#include "services/links-api/links/link_extras_request.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/json_fixture.h"

static struct public_base base;
static struct link link_;
static struct http_problem_fields wrong;

static int set_up(void **state)
{
	(void)state;
	base = json_fixture_base();
	base.schemes = "myapp, tel";
	memset(&link_, 0, sizeof(link_));
	link_.entry.redirect_status = 301;
	return 0;
}

/* Applies a body to link_. */
static enum err apply(const char *text)
{
	struct json *json = json_fixture_parse(text);
	struct link_extras_request request;
	wrong.count = 0;
	link_extras_request_read(json, &base, &request, &wrong);
	json_free(json);
	enum err err = wrong.count > 0 ? ERR_INVALID : link_extras_request_apply(&request, &link_);
	link_extras_request_clear(&request);
	return err;
}

static void assert_shows(const char *expected)
{
	struct json *json = json_new_object();
	link_extras_json_set(json, &link_.entry);
	json_fixture_assert_text(json, expected);
}

#define PLAIN                                                                                        \
	"\"rules\":[],\"split\":null,\"forward_query\":false,\"forward_path\":false,\"max_visits\":" \
	"null,\"has_password\":false,\"preview\":null,"

TEST_CASE(a_link_without_extras_is_plain)
{
	assert_int_equal(apply("{}"), OK);
	assert_int_equal(apply("{\"rules\":[],\"split\":null,\"forward_query\":false,"
	                       "\"max_visits\":null,\"password\":null,\"preview\":{}}"),
	                 OK);
	assert_int_equal(link_.entry.extras_len, 0);
	assert_int_equal(link_.features, 0);
	assert_shows("{" PLAIN "\"effective_redirect_status\":301}");
}

TEST_CASE(reads_values_in_the_form_that_is_compared)
{
	assert_int_equal(
		apply("{\"rules\":[{\"name\":\"a\",\"when\":{\"country\":[\"de\",\"xk\"],\"region\":"
	              "[\"gb-eng\"],\"device\":[\"Mobile\"],\"referrer_host\":[\"Bücher.example.\"],"
	              "\"days\":[\"tue\"]},\"then\":\"redirect\",\"url\":\"HTTP://Example.com\"}]}"),
		OK);
	assert_shows(
		"{\"rules\":[{\"name\":\"a\",\"when\":{\"country\":[\"DE\",\"XK\"],\"region\":"
		"[\"GB-ENG\"],\"device\":[\"mobile\"],\"referrer_host\":[\"xn--bcher-kva.example\"],"
		"\"days\":[\"tue\"],\"time_zone\":\"UTC\"},\"then\":\"redirect\",\"url\":\"http://example.com/"
		"\",\"fallback_url\":null}],\"split\":null,\"forward_query\":false,\"forward_path\":"
		"false,\"max_visits\":null,\"has_password\":false,\"preview\":null,"
		"\"effective_redirect_status\":302}");
}

#define SPLIT                                                                                      \
	"{\"variants\":[{\"name\":\"a\",\"url\":\"https://a.example/\",\"weight\":3},"             \
	"{\"name\":\"b\",\"url\":\"https://b.example/\",\"weight\":1}],\"winner\":"

TEST_CASE(one_member_leaves_the_others)
{
	assert_int_equal(apply("{\"forward_path\":true,\"max_visits\":5}"), OK);
	assert_int_equal(apply("{\"split\":" SPLIT "\"b\"}}"), OK);
	assert_int_equal(apply("{\"preview\":{\"title\":\"T\"}}"), OK);
	assert_int_equal(apply("{\"max_visits\":null}"), OK);
	assert_int_equal(link_.features,
	                 LINK_FEATURE_FORWARD | LINK_FEATURE_SPLIT | LINK_FEATURE_PREVIEW);
	assert_shows("{\"rules\":[],\"split\":" SPLIT
	             "\"b\"},\"forward_query\":false,\"forward_path\":true,\"max_visits\":null,"
	             "\"has_password\":false,\"preview\":{\"title\":\"T\",\"description\":null,"
	             "\"image_url\":null},\"effective_redirect_status\":302}");
	assert_int_equal(apply("{\"split\":null,\"forward_path\":null,\"preview\":null}"), OK);
	assert_int_equal(link_.entry.extras_len, 0);
}

TEST_CASE(a_preview_alone_leaves_the_status)
{
	assert_int_equal(apply("{\"preview\":{\"description\":\"D\"}}"), OK);
	assert_shows(
		"{\"rules\":[],\"split\":null,\"forward_query\":false,\"forward_path\":false,"
		"\"max_visits\":null,\"has_password\":false,\"preview\":{\"title\":null,"
		"\"description\":\"D\",\"image_url\":null},\"effective_redirect_status\":301}");
}

TEST_CASE(hashes_a_password_and_never_shows_it)
{
	struct json *json = json_fixture_parse("{\"password\":\"open sesame\"}");
	struct link_extras_request request;
	link_extras_request_read(json, &base, &request, &wrong);
	json_free(json);
	assert_true(link_extras_request_needs_hash(&request));
	assert_int_equal(link_extras_request_hash(&request), OK);
	assert_false(link_extras_request_needs_hash(&request));
	assert_int_equal(link_extras_request_apply(&request, &link_), OK);
	link_extras_request_clear(&request);
	Waymark__V1__LinkExtras *extras =
		link_extras_open(link_.entry.extras, link_.entry.extras_len);
	assert_true(password_matches("open sesame", extras->password_hash, LINK_PASSWORD_COST));
	link_extras_free(extras);
	assert_shows("{\"rules\":[],\"split\":null,\"forward_query\":false,\"forward_path\":false,"
	             "\"max_visits\":null,\"has_password\":true,\"preview\":null,"
	             "\"effective_redirect_status\":302}");
}

TEST_CASE(history_says_of_a_password_only_that_it_changed)
{
	struct link_extras_request request = { 0 };
	struct json *json = json_fixture_parse("{\"password\":\"1234\",\"max_visits\":7}");
	link_extras_request_read(json, &base, &request, &wrong);
	json_free(json);
	assert_int_equal(link_extras_request_hash(&request), OK);
	assert_int_equal(link_extras_request_apply(&request, &link_), OK);
	link_extras_request_clear(&request);
	json_fixture_assert_text(link_extras_json_changes(NULL, 0, &link_.entry),
	                         "[{\"name\":\"max_visits\",\"from\":null,\"to\":7},"
	                         "{\"name\":\"password\",\"from\":null,\"to\":\"set\"}]");
	assert_null(
		link_extras_json_changes(link_.entry.extras, link_.entry.extras_len, &link_.entry));
}

TEST_CASE(extras_have_a_ceiling_together)
{
	struct strbuf text;
	strbuf_init(&text, 16384);
	strbuf_add_text(&text, "{\"rules\":[{\"name\":\"a\",\"when\":{\"city\":[");
	for (int i = 0; i < 50; i++)
		strbuf_add_format(&text, "%s\"%02d%090d\"", i ? "," : "", i, i);
	strbuf_add_text(&text, "]},\"then\":\"gone\"}]}");
	assert_int_equal(apply(text.data), OK);
	size_t before = link_.entry.extras_len;
	strbuf_reset(&text);
	strbuf_add_format(&text,
	                  "{\"split\":{\"variants\":[{\"name\":\"a\",\"url\":\"https://a.example/"
	                  "%01800d\",\"weight\":1},{\"name\":\"b\",\"url\":\"https://a.example/"
	                  "%02000d\",\"weight\":1}]}}",
	                  1, 2);
	assert_int_equal(apply(text.data), ERR_LIMIT);
	assert_int_equal(link_.entry.extras_len, before);
	assert_int_equal(link_.features, LINK_FEATURE_RULES);
	strbuf_clear(&text);
}

TEST_MAIN(.set_up = set_up)
