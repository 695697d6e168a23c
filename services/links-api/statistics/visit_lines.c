#include "services/links-api/statistics/visit_lines.h"

#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf8.h>

#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "services/links-api/statistics/visit_page.h"

#define DECOMPOSITION_MAX 32 /* UTF-16 units; the longest of Unicode has 18 */

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

/* Where some spreadsheet ends a cell, whatever separates those of the file. */
static bool is_separator(UChar32 c)
{
	return c == ',' || c == ';' || c == '\t' || c == '\r' || c == '\n';
}

/* What a spreadsheet drops before it decides what a cell is. */
static bool is_dropped(UChar32 c)
{
	return c == '"' || u_isUWhiteSpace(c) || u_charType(c) == U_CONTROL_CHAR ||
	       u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
}

/* The first character of the compatibility form: "=" for a full-width, small or raised one. */
static UChar32 plain_form(UChar32 c)
{
	UErrorCode error = U_ZERO_ERROR;
	const UNormalizer2 *forms = unorm2_getNFKDInstance(&error);
	UChar plain[DECOMPOSITION_MAX];
	if (U_FAILURE(error) ||
	    unorm2_getDecomposition(forms, c, plain, DECOMPOSITION_MAX, &error) <= 0 ||
	    U_FAILURE(error))
		return c;
	return plain[0];
}

/* Whether a spreadsheet could take the character for the beginning of a formula. */
static bool begins_formula(UChar32 c)
{
	UChar32 plain = plain_form(c);
	return plain == '=' || plain == '+' || plain == '-' || plain == '@' ||
	       plain == 0x2212; /* minus sign */
}

/* Whether all of a cell is a number, as in coordinates: 40.7,-74.0. */
static bool is_number(const char *text)
{
	size_t digits = strspn(text + 1, "0123456789.");
	return (*text == '+' || *text == '-') && digits > 0 &&
	       strchr(",;\t\r\n\"", text[1 + digits]) != NULL;
}

void visit_lines_add_csv_text(struct strbuf *out, const char *text)
{
	int32_t len = (int32_t)strlen(text);
	bool is_quoted = strpbrk(text, ",;\t\r\n\"") != NULL;
	/* Nothing of the cell that would begin here has been seen. */
	bool is_beginning = true;
	bool is_first = true;
	if (is_quoted)
		strbuf_add_char(out, '"');
	for (int32_t at = 0, next = 0; at < len; at = next) {
		UChar32 c;
		U8_NEXT(text, next, len, c);
		if (is_beginning && begins_formula(c) && (is_first || !is_number(text + at)))
			strbuf_add_char(out, '\'');
		is_beginning = is_separator(c) || (is_beginning && is_dropped(c));
		is_first = is_first && !is_separator(c);
		if (c == '"')
			strbuf_add_char(out, '"');
		strbuf_add(out, text + at, (size_t)(next - at));
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
		visit_lines_add_csv_text(out, pg_result_text(rows, row, index));
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
