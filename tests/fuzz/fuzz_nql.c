/*
 * Untrusted filters. An accepted filter becomes an SQL condition with balanced parentheses that
 * uses only existing parameters and only literals of our own: if every character of every value is
 * changed, the SQL stays the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "services/links-api/lists/nql.h"

#define SQL_BYTES_MAX (32 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_parameters(const char *sql, int count)
{
	int depth = 0;
	for (const char *c = sql; *c; c++) {
		depth += (*c == '(') - (*c == ')');
		require(depth >= 0);
		if (*c != '$')
			continue;
		long number = strtol(c + 1, NULL, 10);
		require(number >= 1 && number <= count);
	}
	require(depth == 0);
}

static void compile(const struct nql *filter, struct strbuf *sql)
{
	struct pg_params params = { 0 };
	struct sql_texts texts = { 0 };
	strbuf_init(sql, SQL_BYTES_MAX);
	nql_sql_add(filter, sql, &params, &texts);
	require(strbuf_status(sql) == OK);
	require(params.count <= NQL_SQL_PARAMS_MAX);
	for (int i = 0; i < params.count; i++)
		require(params.values[i] &&
		        utf8_is_valid(params.values[i], strlen(params.values[i])));
	require_parameters(sql->data, params.count);
	sql_texts_clear(&texts);
}

/*
 * Another character of the same class. The class matters because the search method depends on the
 * words of a text.
 */
static char other_of_class(char c)
{
	if ((uint8_t)c >= 0x80)
		return c;
	if (c >= '0' && c <= '9')
		return c == '7' ? '8' : '7';
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
		return c == 'x' ? 'y' : 'x';
	return c == ';' ? ':' : ';';
}

static void overwrite(char *text)
{
	for (; *text; text++)
		*text = other_of_class(*text);
}

static void require_no_value_in_sql(const struct nql *filter, const struct strbuf *sql)
{
	struct nql *other = mem_copy(filter, sizeof(*filter));
	struct strbuf other_sql;
	for (size_t i = 0; i < other->value_count; i++)
		overwrite(other->texts + other->values[i].text);
	compile(other, &other_sql);
	require(strcmp(sql->data, other_sql.data) == 0);
	strbuf_clear(&other_sql);
	free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_text_n((const char *)data, size);
	char reason[NQL_REASON_SIZE] = "";
	struct nql *filter = mem_zero(sizeof(*filter));
	if (!utf8_is_valid(text, strlen(text))) {
		/* A query has been validated as UTF-8 before. */
	} else if (nql_parse(text, filter, reason) == OK) {
		struct strbuf sql;
		compile(filter, &sql);
		require_no_value_in_sql(filter, &sql);
		strbuf_clear(&sql);
	} else {
		require(strlen(reason) < NQL_REASON_SIZE &&
		        strncmp(reason, "at character ", 13) == 0);
	}
	free(filter);
	free(text);
	return 0;
}
