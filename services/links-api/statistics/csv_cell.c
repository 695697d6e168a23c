#include "services/links-api/statistics/csv_cell.h"

#include <stdbool.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf8.h>

/* UTF-16 units; the longest of Unicode has 18. */
#define DECOMPOSITION_MAX 32

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

void csv_cell_add(struct strbuf *out, const char *text)
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
