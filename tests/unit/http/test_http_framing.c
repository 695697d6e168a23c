#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"
#include "tests/unit/http/framing.h"

#define CUTS 24

struct fixture {
	/* First: it is the handler's ctx. */
	struct http_fixture server;
	/* Requests but those of the barrier. */
	_Atomic unsigned executed;
};

static enum http_progress send_method_and_length(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	char text[64];
	size_t len;
	http_exchange_body(x, &len);
	if (strcmp(http_exchange_path(x), FRAMING_BARRIER) != 0)
		atomic_fetch_add(&f->executed, 1);
	snprintf(text, sizeof(text), "%s %zu", http_exchange_method_name(x), len);
	http_exchange_set_body(x, "text/plain", text, strlen(text));
	return HTTP_COMPLETE;
}

static void start(struct fixture *f)
{
	f->executed = 0;
	http_fixture_start(&f->server, http_fixture_config(), send_method_and_length);
}

static void stop(struct fixture *f, const struct framing_report *report)
{
	http_fixture_stop(&f->server, 1000);
	print_message("%zu cases\n", report->cases);
	if (report->wrong > 0)
		fail_msg("%s", report->first_wrong);
	assert_int_equal(report->crashed, 0);
}

TEST_CASE(rejects_every_request_whose_end_is_in_doubt)
{
	struct fixture f;
	struct framing_report report;
	start(&f);
	framing_send_bad(&f.server, false, CUTS, &report);
	stop(&f, &report);
	assert_int_equal(report.smuggled + atomic_load(&f.executed), 0);
	assert_true(report.cases >= 3000);
}

/* Control: a guard that rejects everything fails here. */
TEST_CASE(serves_every_plain_request_and_keeps_its_connection)
{
	struct fixture f;
	struct framing_report report;
	start(&f);
	framing_send_good(&f.server, CUTS, &report);
	stop(&f, &report);
	assert_int_equal(atomic_load(&f.executed), report.cases);
	assert_true(report.cases >= 500);
}

TEST_MAIN()
