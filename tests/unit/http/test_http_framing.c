#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/http/framing_runner.h"

#define VARIANTS 12
#define GOOD_VARIANTS 16

struct framing_fixture {
	struct http_fixture server; /* first: the handler's ctx */
	_Atomic unsigned executed;  /* requests except those of the barrier */
};

static enum http_progress send_method_and_length(void *ctx, struct http_exchange *x)
{
	struct framing_fixture *framing_fixture = ctx;
	char text[64];
	size_t len;
	http_exchange_body(x, &len);
	if (strcmp(http_exchange_path(x), FRAMING_RUNNER_BARRIER) != 0)
		atomic_fetch_add(&framing_fixture->executed, 1);
	snprintf(text, sizeof(text), "%s %zu", http_exchange_method_name(x), len);
	http_exchange_set_body(x, "text/plain", text, strlen(text));
	return HTTP_COMPLETE;
}

static void try_rules(struct framing_fixture *framing_fixture, const struct framing_rule *rules,
                      size_t count, size_t variants, struct framing_report *report)
{
	framing_fixture->executed = 0;
	http_fixture_start(&framing_fixture->server, http_fixture_config(), send_method_and_length);
	int64_t began_ms = http_fixture_now_ms();
	framing_runner_run(&framing_fixture->server, false, rules, count, variants, report);
	print_message(
		"%zu rules: %zu cases (%zu distinct; %zu whole, %zu in two pieces, %zu byte by byte) in %.1f s\n",
		count, report->cases, report->distinct, report->whole, report->in_two,
		report->byte_by_byte, (double)(http_fixture_now_ms() - began_ms) / 1000);
	http_fixture_stop(&framing_fixture->server, 1000);
}

TEST_CASE(rejects_every_request_whose_end_is_in_doubt)
{
	struct framing_fixture framing_fixture;
	struct framing_report report;
	try_rules(&framing_fixture, framing_rules_bad, framing_rules_bad_count, VARIANTS, &report);
	size_t smuggled = report.smuggled + atomic_load(&framing_fixture.executed);
	print_message("%zu cases refused, smuggled %zu, crashed %zu\n", report.cases - report.wrong,
	              smuggled, report.crashed);
	if (report.wrong > 0)
		fail_msg("%zu are not refused as they should be; the first: %s", report.wrong,
		         report.first_wrong);
	assert_int_equal(smuggled, 0);
	assert_int_equal(report.crashed, 0);
	assert_true(report.distinct >= 1000);
	assert_true(report.in_two >= 1000 && report.byte_by_byte >= 100);
}

/* Control: a guard that rejects everything fails here. */
TEST_CASE(serves_every_plain_request_and_keeps_its_connection)
{
	struct framing_fixture framing_fixture;
	struct framing_report report;
	try_rules(&framing_fixture, framing_rules_good, framing_rules_good_count, GOOD_VARIANTS,
	          &report);
	print_message("%zu plain requests answered\n", report.cases - report.wrong);
	if (report.wrong > 0)
		fail_msg("%zu are not answered as they should be; the first: %s", report.wrong,
		         report.first_wrong);
	assert_int_equal(atomic_load(&framing_fixture.executed), report.cases);
	assert_true(report.distinct >= 300);
}

TEST_MAIN()
