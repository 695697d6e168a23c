#include <stdio.h>

#include "lib/json/json.h"
#include "services/links-api/statistics/visit_lines.h"
#include "tests/support/test.h"

#define EXAMPLES "tests/support/csv_cells.json"
#define EXAMPLES_BYTES_MAX 65536
#define CELL_BYTES_MAX 256

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
		visit_lines_add_csv_text(&cell, json_text(json_at(example, 0), NULL));
		assert_string_equal(cell.data, json_text(json_at(example, 1), NULL));
		strbuf_clear(&cell);
	}
	json_free(examples);
}

TEST_MAIN()
