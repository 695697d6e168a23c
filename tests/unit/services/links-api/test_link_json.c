#include <stdint.h>

#include "lib/base/mem.h"
#include "services/links-api/links/link_json.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/json_fixture.h"

#define NOW_US INT64_C(1795161600000000)

TEST_CASE(shows_a_link_with_all_fields)
{
	struct public_base base = json_fixture_base();
	struct link link = {
		.entry = { .id = 7,
		           .version = 3,
		           .starts_at_us = NOW_US - 1000,
		           .expires_at_us = NOW_US + 1000,
		           .state = LINK_STATE_ACTIVE,
		           .redirect_status = 301,
		           .is_slug_chosen = true,
		           .slug = "abc",
		           .original_url = "https://a.example/",
		           .expired_url = "https://b.example/" },
		.type = LINK_TYPE_PERMANENT,
		.workspace_id = 1,
		.created_by = 2,
		.external_id = "order-7",
		.title = "\"T\"",
		.tags = { 2, { "x", "y" } },
		.created_at_us = NOW_US - 2000000,
		.updated_at_us = NOW_US - 1000000,
	};
	struct link_details details = { 0 };
	link_details_set_new(&details, "n\n");
	details.aliases.rows = mem_array(3, sizeof(*details.aliases.rows));
	details.aliases.rows[0] = (struct link_alias){ .link_id = 6, .slug = "of-another" };
	details.aliases.rows[1] = (struct link_alias){ .link_id = 7, .slug = "newer" };
	details.aliases.rows[2] = (struct link_alias){ .link_id = 7, .slug = "older" };
	details.aliases.count = 3;
	details.of[0].visit_count = 5;
	details.of[0].bot_count = 2;
	details.of[0].last_visited_at_us = NOW_US - 1;
	details.of[0].destination_status = 404;
	details.of[0].last_checked_at_us = NOW_US - 2000;
	details.of[0].purge_at_us = NOW_US + 2000;
	json_fixture_assert_text(
		link_json_new(&link, &details, 0, &base, NOW_US),
		"{\"id\":7,\"workspace_id\":1,\"created_by\":2,\"slug\":\"abc\",\"short_url\":\"https://wm.example/abc\","
		"\"aliases\":[\"newer\",\"older\"],\"external_id\":\"order-7\","
		"\"original_url\":\"https://a.example/\",\"destination_host_display\":\"a.example\",\"destination_blocked\":false,\"blocked_reason\":null,\"link_type\":\"permanent\",\"state\":\"active\","
		"\"redirect_status\":301,\"starts_at\":\"2026-11-20T07:59:59.999Z\",\"expires_at\":\"2026-11-20T08:00:00.001Z\","
		"\"expired_url\":\"https://b.example/\",\"title\":\"\\\"T\\\"\",\"tags\":[\"x\",\"y\"],\"notes\":\"n\\n\","
		"\"utm_source\":null,\"utm_medium\":null,\"utm_campaign\":null,\"utm_term\":null,\"utm_content\":null,"
		"\"rules\":[],\"split\":null,\"forward_query\":false,\"forward_path\":false,\"max_visits\":null,"
		"\"has_password\":false,\"preview\":null,\"effective_redirect_status\":301,\"visits_left\":null,"
		"\"version\":3,"
		"\"humans\":5,\"bots\":2,\"total\":7,\"last_visited_at\":\"2026-11-20T07:59:59.999Z\","
		"\"destination_status\":404,\"last_checked_at\":\"2026-11-20T07:59:59.998Z\","
		"\"created_at\":\"2026-11-20T07:59:58.000Z\",\"updated_at\":\"2026-11-20T07:59:59.000Z\",\"deleted_at\":null,\"purge_at\":\"2026-11-20T08:00:00.002Z\"}");
	link_details_clear(&details);
}

TEST_CASE(shows_missing_values_as_null_and_a_link_past_its_expiry_as_expired)
{
	struct public_base base = json_fixture_base();
	struct link link = {
		.entry = { .id = 7,
		           .version = 1,
		           .expires_at_us = NOW_US,
		           .state = LINK_STATE_ACTIVE,
		           .redirect_status = 302,
		           .slug = "abc",
		           .original_url = "https://a.example/" },
		.type = LINK_TYPE_TEMPORARY,
		.created_at_us = NOW_US,
		.updated_at_us = NOW_US,
	};
	struct link_details details = { 0 };
	link_details_set_new(&details, NULL);
	json_fixture_assert_text(
		link_json_new(&link, &details, 0, &base, NOW_US),
		"{\"id\":7,\"workspace_id\":null,\"created_by\":null,\"slug\":\"abc\",\"short_url\":\"https://wm.example/abc\","
		"\"aliases\":[],\"external_id\":null,"
		"\"original_url\":\"https://a.example/\",\"destination_host_display\":\"a.example\",\"destination_blocked\":false,\"blocked_reason\":null,\"link_type\":\"temporary\",\"state\":\"expired\","
		"\"redirect_status\":302,\"starts_at\":null,\"expires_at\":\"2026-11-20T08:00:00.000Z\",\"expired_url\":null,"
		"\"title\":\"\",\"tags\":[],\"notes\":null,"
		"\"utm_source\":null,\"utm_medium\":null,\"utm_campaign\":null,\"utm_term\":null,\"utm_content\":null,"
		"\"rules\":[],\"split\":null,\"forward_query\":false,\"forward_path\":false,\"max_visits\":null,"
		"\"has_password\":false,\"preview\":null,\"effective_redirect_status\":302,\"visits_left\":null,"
		"\"version\":1,\"humans\":0,\"bots\":0,\"total\":0,\"last_visited_at\":null,"
		"\"destination_status\":null,\"last_checked_at\":null,"
		"\"created_at\":\"2026-11-20T08:00:00.000Z\",\"updated_at\":\"2026-11-20T08:00:00.000Z\",\"deleted_at\":null,\"purge_at\":null}");
	link_details_clear(&details);
}

TEST_CASE(an_active_link_without_visits_left_is_used_up)
{
	struct public_base base = json_fixture_base();
	struct link link = { .entry = { .id = 7,
		                        .version = 1,
		                        .state = LINK_STATE_ACTIVE,
		                        .redirect_status = 302 },
		             .type = LINK_TYPE_PERMANENT };
	struct link_details details = { 0 };
	link_details_set_new(&details, NULL);
	static const struct {
		int64_t visits_left;
		enum link_state state;
		const char *shown;
	} cases[] = { { 0, LINK_STATE_ACTIVE, "used_up" },
		      { 1, LINK_STATE_ACTIVE, "active" },
		      { 0, LINK_STATE_DISABLED, "disabled" } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		link.entry.state = cases[i].state;
		details.of[0].visits_left = cases[i].visits_left;
		struct json *json = link_json_new(&link, &details, 0, &base, NOW_US);
		assert_string_equal(json_text(json_get(json, "state"), NULL), cases[i].shown);
		assert_int_equal(json_int(json_get(json, "visits_left")), cases[i].visits_left);
		json_free(json);
	}
	link_details_clear(&details);
}

TEST_MAIN()
