#include "services/links-api/stats/visit_lines.h"

#include <string.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/clicks/visit_page.h"

static void set(struct json *visit, const struct visit_page_column *column,
                const struct pg_result *rows, size_t row, int index)
{
	switch (column->kind) {
	case VISIT_PAGE_TEXT:
		json_set_text(visit, column->name, pg_result_text(rows, row, index));
		break;
	case VISIT_PAGE_INT:
		json_set_int(visit, column->name, pg_result_int(rows, row, index));
		break;
	case VISIT_PAGE_REAL:
		json_set_real(visit, column->name, pg_result_double(rows, row, index));
		break;
	case VISIT_PAGE_BOOL:
		json_set_bool(visit, column->name, pg_result_bool(rows, row, index));
		break;
	case VISIT_PAGE_TIME:
		json_set_time(visit, column->name, pg_result_time(rows, row, index));
		break;
	}
}

struct json *visit_lines_object(const struct pg_result *rows, size_t row)
{
	struct json *visit = json_new_object();
	for (int i = 0; i < VISIT_PAGE_COLUMNS; i++)
		set(visit, &visit_page_columns[i], rows, row, i);
	return visit;
}

void visit_lines_add_json(struct strbuf *out, const struct pg_result *rows, size_t row)
{
	struct json *visit = visit_lines_object(rows, row);
	json_write(visit, out);
	json_free(visit);
	strbuf_add_char(out, '\n');
}

void visit_lines_add_csv_header(struct strbuf *out)
{
	for (size_t i = 0; i < VISIT_PAGE_COLUMNS; i++)
		strbuf_add_format(out, "%s%s", i == 0 ? "" : ",", visit_page_columns[i].name);
	strbuf_add_text(out, "\r\n");
}

/* Spreadsheets drop what cannot be seen before they decide what a cell is. */
static bool is_invisible(ucs4_t c)
{
	return uc_is_property_white_space(c) || uc_is_property_default_ignorable_code_point(c) ||
	       uc_is_general_category(c, UC_CONTROL);
}

/*
 * Whether a spreadsheet could take the character for the beginning of a formula. Some read
 * full-width, small and raised forms like the plain ones: their compatibility form decides.
 */
static bool begins_formula(ucs4_t c)
{
	uint32_t plain[UC_DECOMPOSITION_MAX_LENGTH];
	int tag;
	if (uc_decomposition(c, &tag, plain) > 0)
		c = plain[0];
	return c == '=' || c == '+' || c == '-' || c == '@' || c == 0x2212; /* minus sign */
}

static bool is_formula(const char *text)
{
	size_t len = strlen(text);
	ucs4_t c = ' ';
	for (size_t at = 0; at < len && is_invisible(c);)
		at += (size_t)u8_mbtouc(&c, (const uint8_t *)text + at, len - at);
	return begins_formula(c);
}

static void add_csv_text(struct strbuf *out, const char *text)
{
	bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;
	if (is_quoted)
		strbuf_add_char(out, '"');
	if (is_formula(text))
		strbuf_add_char(out, '\'');
	for (const char *c = text; *c; c++) {
		if (*c == '"')
			strbuf_add_char(out, '"');
		strbuf_add_char(out, *c);
	}
	if (is_quoted)
		strbuf_add_char(out, '"');
}

static void add_csv_field(struct strbuf *out, enum visit_page_kind kind,
                          const struct pg_result *rows, size_t row, int index)
{
	char number[NUMBER_TEXT_SIZE], time[TIMESTAMP_TEXT_SIZE];
	switch (kind) {
	case VISIT_PAGE_TEXT:
		add_csv_text(out, pg_result_text(rows, row, index));
		break;
	case VISIT_PAGE_INT:
		strbuf_add_text(out, pg_result_text(rows, row, index));
		break;
	case VISIT_PAGE_REAL:
		number_format(pg_result_double(rows, row, index), number);
		strbuf_add_text(out, number);
		break;
	case VISIT_PAGE_BOOL:
		strbuf_add_text(out, pg_result_bool(rows, row, index) ? "true" : "false");
		break;
	case VISIT_PAGE_TIME:
		timestamp_format_ms(pg_result_time(rows, row, index), time);
		strbuf_add_text(out, time);
		break;
	}
}

void visit_lines_add_csv(struct strbuf *out, const struct pg_result *rows, size_t row)
{
	for (int i = 0; i < VISIT_PAGE_COLUMNS; i++) {
		if (i > 0)
			strbuf_add_char(out, ',');
		add_csv_field(out, visit_page_columns[i].kind, rows, row, i);
	}
	strbuf_add_text(out, "\r\n");
}
