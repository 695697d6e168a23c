#include "tests/unit/http/framing_runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"

#define BARRIER_REQUEST "GET " FRAMING_RUNNER_BARRIER " HTTP/1.1\r\nHost: a\r\n\r\n"
#define CASES_MAX 50000
/* A request with more cut offsets than this is cut only at every n-th of them. */
#define CUTS_MAX 120
/* The run ends after this many wrong cases. */
#define WRONG_MAX 3

struct runner {
	const struct http_fixture *server;
	bool needs_length;
	struct framing_report *report;
	uint64_t *hashes;
	int barrier;
	size_t count;
	struct {
		struct framing_case c;
		int fd;
		size_t sent;
		bool closed; /* the server has closed the connection */
	} members[FRAMING_RUNNER_SIZE];
};

static void wait_until_read(struct runner *runner)
{
	struct http_fixture_response response;
	for (int i = 0; i < 2; i++) {
		assert_true(http_fixture_send_text(runner->barrier, BARRIER_REQUEST));
		http_fixture_read_response(runner->barrier, true, &response);
		assert_int_equal(response.status, 200);
	}
}

static size_t next_piece(const struct framing_case *c, size_t sent)
{
	if (c->first_piece == FRAMING_BYTE_BY_BYTE)
		return 1;
	return c->first_piece > 0 && sent == 0 ? c->first_piece : c->bytes.len - sent;
}

/* False: all members have sent everything. */
static bool send_round(struct runner *runner)
{
	bool is_left = false;
	for (size_t i = 0; i < runner->count; i++) {
		const struct framing_case *c = &runner->members[i].c;
		size_t sent = runner->members[i].sent;
		if (runner->members[i].closed || sent == c->bytes.len)
			continue;
		size_t piece = next_piece(c, sent);
		runner->members[i].closed =
			!http_fixture_send(runner->members[i].fd, c->bytes.data + sent, piece);
		runner->members[i].sent += piece;
		is_left = is_left || runner->members[i].sent < c->bytes.len;
	}
	return is_left;
}

static void report_wrong(struct framing_report *report, const struct framing_case *c,
                         const char *why, const char *response)
{
	if (report->wrong++ > 0)
		return;
	char pieces[32];
	snprintf(pieces, sizeof(pieces), "%zu", c->first_piece);
	snprintf(report->first_wrong, sizeof(report->first_wrong),
	         "%s (first piece %s): %s\n--- request\n%.700s\n--- response\n%.700s",
	         c->rule->name, c->first_piece == FRAMING_BYTE_BY_BYTE ? "a byte" : pieces, why,
	         c->bytes.data, response);
}

static void check_bad(struct runner *runner, const struct framing_case *c, int fd)
{
	struct framing_report *report = runner->report;
	unsigned status = runner->needs_length && c->rule->is_chunked ? 411 : c->rule->status;
	char response[16384], expected[16];
	snprintf(expected, sizeof(expected), "HTTP/1.1 %u ", status);
	bool ended =
		http_fixture_read_to_end(fd, response, sizeof(response), HTTP_FIXTURE_DEADLINE_MS);
	size_t responses = http_fixture_count(response, "HTTP/1.1 ");
	report->smuggled += responses > 1;
	report->crashed += responses == 0;
	if (!ended)
		report_wrong(report, c, "the connection stays open", response);
	else if (strncmp(response, expected, strlen(expected)) != 0)
		report_wrong(report, c, "the status is not the expected one", response);
	else if (responses != 1)
		report_wrong(report, c, "there is more than one response", response);
	else if (strstr(response, "\r\nConnection: close\r\n") == NULL)
		report_wrong(report, c, "Connection: close is missing", response);
	else if (status == 413 && strcmp(c->method, "HEAD") == 0 &&
	         strstr(response, "\r\n\r\n")[4] != '\0')
		report_wrong(report, c, "HEAD gets a body", response);
}

static void check_good(struct framing_report *report, const struct framing_case *c, int fd)
{
	struct http_fixture_response response;
	char expected[64], value[32];
	bool has_body = strcmp(c->method, "HEAD") != 0;
	snprintf(expected, sizeof(expected), "%s %zu", c->method, c->rule->body_len);
	http_fixture_read_response(fd, has_body, &response);
	report->crashed += response.status == 0;
	if (response.status != 200 || (has_body && strcmp(response.body, expected) != 0)) {
		report_wrong(report, c, "the response is not the expected one", response.body);
		return;
	}
	http_fixture_header(&response, "Connection", value, sizeof(value));
	bool kept = strcasecmp(value, "close") != 0 && http_fixture_send_text(fd, BARRIER_REQUEST);
	if (kept)
		http_fixture_read_response(fd, true, &response);
	if (!kept || response.status != 200)
		report_wrong(report, c, "the connection was not kept", response.head);
}

static void run_members(struct runner *runner)
{
	for (size_t i = 0; i < runner->count; i++)
		runner->members[i].fd = http_fixture_connect(runner->server);
	while (send_round(runner))
		wait_until_read(runner);
	for (size_t i = 0; i < runner->count; i++) {
		struct framing_case *c = &runner->members[i].c;
		if (runner->report->wrong >= WRONG_MAX)
			runner->report->cases--;
		else if (c->rule->status == 200)
			check_good(runner->report, c, runner->members[i].fd);
		else
			check_bad(runner, c, runner->members[i].fd);
		close(runner->members[i].fd);
		framing_case_clear(c);
		memset(&runner->members[i], 0, sizeof(runner->members[i]));
	}
	runner->count = 0;
}

static void count(struct runner *runner, const struct framing_case *c)
{
	struct framing_report *report = runner->report;
	assert_true(report->cases < CASES_MAX);
	assert_int_equal(strbuf_status(&c->bytes), OK);
	runner->hashes[report->cases++] = framing_case_hash(c);
	report->whole += c->first_piece == FRAMING_WHOLE;
	report->byte_by_byte += c->first_piece == FRAMING_BYTE_BY_BYTE;
	report->in_two += c->first_piece != FRAMING_WHOLE && c->first_piece != FRAMING_BYTE_BY_BYTE;
}

static void add_case(struct runner *runner, const struct framing_rule *rule, size_t variant,
                     size_t first_piece)
{
	if (runner->report->wrong >= WRONG_MAX)
		return;
	struct framing_case *c = &runner->members[runner->count++].c;
	framing_case_make(c, rule, variant, first_piece);
	count(runner, c);
	if (runner->count == FRAMING_RUNNER_SIZE)
		run_members(runner);
}

static void add_cut_cases(struct runner *runner, const struct framing_rule *rule, size_t variant)
{
	struct framing_case c;
	size_t cuts = 0, every = 1, i = 0;
	framing_case_make(&c, rule, variant, FRAMING_WHOLE);
	for (size_t at = 0; (at = framing_case_next_cut(&c, at)) > 0;)
		cuts++;
	while (cuts / every > CUTS_MAX)
		every++;
	for (size_t at = 0; (at = framing_case_next_cut(&c, at)) > 0; i++)
		if (i % every == 0)
			add_case(runner, rule, variant, at);
	framing_case_clear(&c);
}

static int compare(const void *a, const void *b)
{
	uint64_t left, right;
	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return (left > right) - (left < right);
}

static size_t count_distinct(uint64_t *hashes, size_t count)
{
	size_t distinct = count > 0;
	qsort(hashes, count, sizeof(*hashes), compare);
	for (size_t i = 1; i < count; i++)
		distinct += hashes[i] != hashes[i - 1];
	return distinct;
}

/* Long requests are not sent byte by byte: that takes most of the time and adds few new cases. */
static bool is_long(const struct framing_rule *rule)
{
	return rule->target_len > 0 || rule->head_times > 1 || rule->body.len > 1000;
}

void framing_runner_run(const struct http_fixture *server, bool needs_length,
                        const struct framing_rule *rules, size_t rule_count, size_t variants,
                        struct framing_report *report)
{
	struct runner *runner = mem_zero(sizeof(*runner));
	*report = (struct framing_report){ 0 };
	runner->server = server;
	runner->needs_length = needs_length;
	runner->report = report;
	runner->hashes = mem_array(CASES_MAX, sizeof(*runner->hashes));
	runner->barrier = http_fixture_connect(server);
	for (size_t i = 0; i < rule_count; i++) {
		for (size_t variant = 0; variant < variants; variant++)
			add_case(runner, &rules[i], variant, FRAMING_WHOLE);
		add_cut_cases(runner, &rules[i], variants + i);
	}
	run_members(runner);
	for (size_t i = 0; i < rule_count; i++)
		for (size_t variant = 0; variant < variants / 4 && !is_long(&rules[i]); variant++)
			add_case(runner, &rules[i], 2 * variants + i + variant,
			         FRAMING_BYTE_BY_BYTE);
	run_members(runner);
	close(runner->barrier);
	report->distinct = count_distinct(runner->hashes, report->cases);
	free(runner->hashes);
	free(runner);
}
