#include <stdint.h>
#include <stdio.h>

#include "lib/json/json.h"
#include "services/links-api/statistics/csv_cell.h"
#include "services/links-api/statistics/visit_page.h"
#include "tests/support/test.h"

#define EXAMPLES "tests/support/csv_cells.json"
#define EXAMPLES_BYTES_MAX 65536
#define CELL_BYTES_MAX 256
#define ID "0190a0b0-c0d0-7000-8000-0123456789ab"

TEST_CASE(parses_what_it_formatted)
{
	struct visit_page_cursor position = { .occurred_at_us = INT64_C(1795161600123456),
		                              .event_id = ID };
	struct visit_page_cursor parsed = { 0 };
	char text[VISIT_PAGE_CURSOR_SIZE];
	visit_page_cursor_format(&position, text);
	assert_string_equal(text, "1795161600123456_" ID);
	assert_int_equal(visit_page_cursor_parse(text, &parsed), OK);
	assert_int_equal(parsed.occurred_at_us, position.occurred_at_us);
	assert_string_equal(parsed.event_id, ID);
}

TEST_CASE(rejects_everything_else)
{
	static const char *const malformed[] = {
		"",
		"_",
		"1",
		"1_",
		"_" ID,
		"x_" ID,
		"-1_" ID,
		"1_" ID "0",
		"1_0190A0B0-C0D0-7000-8000-0123456789AB",
		"1_0190a0b0xc0d0-7000-8000-0123456789ab",
		"1_0190a0b0-c0d0-7000-8000-0123456789a",
		"253402300800000000_" ID,
		"99999999999999999999999999999999999999999999999999999999999999999999_" ID,
	};
	struct visit_page_cursor position;
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		if (visit_page_cursor_parse(malformed[i], &position) != ERR_INVALID)
			fail_msg("accepted: %s", malformed[i]);
}

static struct json *read_examples(void)
{
	static char text[EXAMPLES_BYTES_MAX];
	char reason[JSON_REASON_SIZE];
	struct json *examples = NULL;
	FILE *file = fopen(EXAMPLES, "r");
	assert_non_null(file);
	size_t len = fread(text, 1, sizeof(text), file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(json_parse(text, len, &examples, reason), OK);
	return examples;
}

TEST_CASE(no_spreadsheet_takes_a_text_for_a_formula)
{
	struct json *examples = read_examples();
	assert_true(json_count(examples) > 50);
	for (size_t i = 0; i < json_count(examples); i++) {
		struct json *example = json_at(examples, i);
		struct strbuf cell;
		strbuf_init(&cell, CELL_BYTES_MAX);
		csv_cell_add(&cell, json_text(json_at(example, 0), NULL));
		assert_string_equal(cell.data, json_text(json_at(example, 1), NULL));
		strbuf_clear(&cell);
	}
	json_free(examples);
}

TEST_MAIN()
