#include <stdint.h>

#include "services/links-api/http/response.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/json_fixture.h"

static const char *const offered[] = { "application/json", "text/csv", "application/x-ndjson" };
#define NONE 9

TEST_CASE(chooses_the_type_the_client_prefers)
{
	static const struct {
		const char *accept;
		size_t chosen;
	} examples[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ " , ", 0 },
		{ "*/*", 0 },
		{ "application/*", 0 },
		{ "text/*", 1 },
		{ "TEXT/CSV", 1 },
		{ "text/csv;charset=utf-8", 1 },
		{ "application/x-ndjson", 2 },
		{ "text/csv, application/json", 0 },
		{ "application/json;q=0.5, text/csv;q=0.6", 1 },
		{ "application/json; q=0.5 ,text/csv ; q=0.6", 1 },
		{ "*/*;q=0.9, application/json;q=0.1", 1 },
		{ "application/*;q=0.2, */*;q=0.1, application/x-ndjson;q=1.000", 2 },
		{ "text/csv;q=0", NONE },
		{ "text/html", NONE },
		{ "*/*;q=0", NONE },
		{ "text/csv;q=0, */*", 0 },
		{ "text/html, text/csv;q=0.001", 1 },
		{ "text", NONE },
		{ "/", NONE },
		{ "text/csvx", NONE },
		{ "*", NONE },
		{ "text/csv;q=nonsense, application/json;q=0.5", 1 },
		{ "text/csv;q", 1 },
		{ "text/csv;", 1 },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		size_t chosen = NONE;
		enum err err = response_choose_type(examples[i].accept, offered, 3, &chosen);
		if (chosen != examples[i].chosen || err != (chosen == NONE ? ERR_NOT_FOUND : OK))
			fail_msg("%s gives %zu", examples[i].accept, chosen);
	}
}

static void assert_freshness(int64_t as_of_us, int64_t now_us, const char *wanted)
{
	struct json *json = json_new_object();
	response_add_freshness(json, as_of_us, now_us);
	json_fixture_assert_text(json, wanted);
}

TEST_CASE(shows_how_old_counts_are)
{
	const int64_t now_us = INT64_C(1795161600000000);
	assert_freshness(now_us - 250000, now_us,
	                 "{\"as_of\":\"2026-11-20T07:59:59.750Z\",\"lag_ms\":250}");
	assert_freshness(now_us + 5000, now_us,
	                 "{\"as_of\":\"2026-11-20T08:00:00.005Z\",\"lag_ms\":0}");
	assert_freshness(0, now_us, "{\"as_of\":null,\"lag_ms\":null}");
}

TEST_CASE(shows_latencies_with_at_most_three_decimals)
{
	static const struct {
		double ms;
		const char *wanted;
	} cases[] = {
		{ 0.327, "{\"mean_ms\":0.327}" },
		{ 1.0 / 3, "{\"mean_ms\":0.333}" },
		{ 2.0 / 3, "{\"mean_ms\":0.667}" },
		{ 0.1 + 0.2, "{\"mean_ms\":0.3}" },
		{ 1234567.0004999, "{\"mean_ms\":1234567.0}" },
		{ 707106.78118654752, "{\"mean_ms\":707106.781}" },
		{ 0.0005, "{\"mean_ms\":0.001}" },
		{ 1e-9, "{\"mean_ms\":0.0}" },
		{ 30000.123, "{\"mean_ms\":30000.123}" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json *json = json_new_object();
		response_set_ms(json, "mean_ms", cases[i].ms);
		json_fixture_assert_text(json, cases[i].wanted);
	}
}

TEST_MAIN()
