#include "tests/unit/net/framing_crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "lib/base/mem.h"

#define BARRIER_REQUEST "GET " FRAMING_CROWD_BARRIER " HTTP/1.1\r\nHost: a\r\n\r\n"
#define CASES_MAX 50000
/* Beyond that many a long request is cut in every n-th interesting place. */
#define CUTS_MAX 120
/* After so many wrong ones there is nothing to learn from waiting for the others. */
#define WRONG_MAX 3

struct crowd {
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
		bool refused; /* the server takes no more */
	} members[FRAMING_CROWD_SIZE];
};

static void wait_until_read(struct crowd *crowd)
{
	struct http_fixture_answer answer;
	for (int i = 0; i < 2; i++) {
		assert_true(http_fixture_send_text(crowd->barrier, BARRIER_REQUEST));
		http_fixture_read_answer(crowd->barrier, true, &answer);
		assert_int_equal(answer.status, 200);
	}
}

static size_t next_piece(const struct framing_case *c, size_t sent)
{
	if (c->first_piece == FRAMING_BYTE_BY_BYTE)
		return 1;
	return c->first_piece > 0 && sent == 0 ? c->first_piece : c->bytes.len - sent;
}

/* False: everybody has sent everything. */
static bool send_a_round(struct crowd *crowd)
{
	bool is_left = false;
	for (size_t i = 0; i < crowd->count; i++) {
		const struct framing_case *c = &crowd->members[i].c;
		size_t sent = crowd->members[i].sent;
		if (crowd->members[i].refused || sent == c->bytes.len)
			continue;
		size_t piece = next_piece(c, sent);
		crowd->members[i].refused = !http_fixture_send(crowd->members[i].fd, c->bytes.data + sent, piece);
		crowd->members[i].sent += piece;
		is_left = is_left || crowd->members[i].sent < c->bytes.len;
	}
	return is_left;
}

static void note_wrong(struct framing_report *report, const struct framing_case *c, const char *why, const char *answer)
{
	if (report->wrong++ > 0)
		return;
	char pieces[32];
	snprintf(pieces, sizeof(pieces), "%zu", c->first_piece);
	snprintf(report->first_wrong, sizeof(report->first_wrong),
	         "%s (first piece %s): %s\n--- request\n%.700s\n--- answer\n%.700s", c->rule->name,
	         c->first_piece == FRAMING_BYTE_BY_BYTE ? "a byte" : pieces, why, c->bytes.data, answer);
}

static void check_bad(struct crowd *crowd, const struct framing_case *c, int fd)
{
	struct framing_report *report = crowd->report;
	unsigned status = crowd->needs_length && c->rule->is_chunked ? 411 : c->rule->status;
	char answer[16384], expected[16];
	snprintf(expected, sizeof(expected), "HTTP/1.1 %u ", status);
	bool ended = http_fixture_read_to_end(fd, answer, sizeof(answer), HTTP_FIXTURE_DEADLINE_MS);
	size_t answers = http_fixture_count(answer, "HTTP/1.1 ");
	report->smuggled += answers > 1;
	report->crashed += answers == 0;
	if (!ended)
		note_wrong(report, c, "the connection stays open", answer);
	else if (strncmp(answer, expected, strlen(expected)) != 0)
		note_wrong(report, c, "another answer was due", answer);
	else if (answers != 1)
		note_wrong(report, c, "there is more than one answer", answer);
	else if (strstr(answer, "\r\nConnection: close\r\n") == NULL)
		note_wrong(report, c, "it does not say that it closes", answer);
	else if (status == 413 && strcmp(c->method, "HEAD") == 0 && strstr(answer, "\r\n\r\n")[4] != '\0')
		note_wrong(report, c, "HEAD gets a body", answer);
}

static void check_good(struct framing_report *report, const struct framing_case *c, int fd)
{
	struct http_fixture_answer answer;
	char expected[64], value[32];
	bool has_body = strcmp(c->method, "HEAD") != 0;
	snprintf(expected, sizeof(expected), "%s %zu", c->method, c->rule->takes);
	http_fixture_read_answer(fd, has_body, &answer);
	report->crashed += answer.status == 0;
	if (answer.status != 200 || (has_body && strcmp(answer.body, expected) != 0)) {
		note_wrong(report, c, "it was not answered as it should be", answer.body);
		return;
	}
	http_fixture_header(&answer, "Connection", value, sizeof(value));
	bool kept = strcasecmp(value, "close") != 0 && http_fixture_send_text(fd, BARRIER_REQUEST);
	if (kept)
		http_fixture_read_answer(fd, true, &answer);
	if (!kept || answer.status != 200)
		note_wrong(report, c, "the connection was not kept", answer.head);
}

static void try_all(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		crowd->members[i].fd = http_fixture_connect(crowd->server);
	while (send_a_round(crowd))
		wait_until_read(crowd);
	for (size_t i = 0; i < crowd->count; i++) {
		struct framing_case *c = &crowd->members[i].c;
		if (crowd->report->wrong >= WRONG_MAX)
			crowd->report->cases--;
		else if (c->rule->status == 200)
			check_good(crowd->report, c, crowd->members[i].fd);
		else
			check_bad(crowd, c, crowd->members[i].fd);
		close(crowd->members[i].fd);
		framing_case_clear(c);
		memset(&crowd->members[i], 0, sizeof(crowd->members[i]));
	}
	crowd->count = 0;
}

static void count(struct crowd *crowd, const struct framing_case *c)
{
	struct framing_report *report = crowd->report;
	assert_true(report->cases < CASES_MAX);
	assert_int_equal(strbuf_status(&c->bytes), OK);
	crowd->hashes[report->cases++] = framing_case_hash(c);
	report->whole += c->first_piece == FRAMING_WHOLE;
	report->byte_by_byte += c->first_piece == FRAMING_BYTE_BY_BYTE;
	report->in_two += c->first_piece != FRAMING_WHOLE && c->first_piece != FRAMING_BYTE_BY_BYTE;
}

static void join(struct crowd *crowd, const struct framing_rule *rule, size_t variant, size_t first_piece)
{
	if (crowd->report->wrong >= WRONG_MAX)
		return;
	struct framing_case *c = &crowd->members[crowd->count++].c;
	framing_case_make(c, rule, variant, first_piece);
	count(crowd, c);
	if (crowd->count == FRAMING_CROWD_SIZE)
		try_all(crowd);
}

static void join_cut_everywhere(struct crowd *crowd, const struct framing_rule *rule, size_t variant)
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
			join(crowd, rule, variant, at);
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

/* Long requests would take most of the time byte by byte, and have little in them that is new. */
static bool is_long(const struct framing_rule *rule)
{
	return rule->target_len > 0 || rule->head_times > 1 || rule->body.len > 1000;
}

void framing_crowd_try(const struct http_fixture *server, bool needs_length, const struct framing_rule *rules,
                       size_t rule_count, size_t variants, struct framing_report *report)
{
	struct crowd *crowd = mem_zero(sizeof(*crowd));
	*report = (struct framing_report){ 0 };
	crowd->server = server;
	crowd->needs_length = needs_length;
	crowd->report = report;
	crowd->hashes = mem_array(CASES_MAX, sizeof(*crowd->hashes));
	crowd->barrier = http_fixture_connect(server);
	for (size_t i = 0; i < rule_count; i++) {
		for (size_t variant = 0; variant < variants; variant++)
			join(crowd, &rules[i], variant, FRAMING_WHOLE);
		join_cut_everywhere(crowd, &rules[i], variants + i);
	}
	try_all(crowd);
	for (size_t i = 0; i < rule_count; i++)
		for (size_t variant = 0; variant < variants / 4 && !is_long(&rules[i]); variant++)
			join(crowd, &rules[i], 2 * variants + i + variant, FRAMING_BYTE_BY_BYTE);
	try_all(crowd);
	close(crowd->barrier);
	report->distinct = count_distinct(crowd->hashes, report->cases);
	free(crowd->hashes);
	free(crowd);
}
