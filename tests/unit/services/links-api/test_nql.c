#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "services/links-api/lists/nql.h"
#include "tests/support/test.h"

static struct nql filter;
static char reason[NQL_REASON_SIZE];
static char shown[16 * 1024];

/* The SQL condition with each parameter replaced by its quoted value; or the reason of an error. */
static const char *sql_of(const char *text)
{
	struct strbuf sql, out;
	struct pg_params params = { 0 };
	struct sql_texts texts = { 0 };
	if (nql_parse(text, &filter, reason) != OK)
		return reason;
	strbuf_init(&sql, sizeof(shown));
	strbuf_init(&out, sizeof(shown));
	nql_sql_add(&filter, &sql, &params, &texts);
	for (const char *c = sql.data; *c; c++) {
		char *end = NULL;
		if (*c == '$') {
			strbuf_add_format(&out, "\"%s\"",
			                  params.values[strtol(c + 1, &end, 10) - 1]);
			c = end - 1;
		} else {
			strbuf_add_char(&out, *c);
		}
	}
	snprintf(shown, sizeof(shown), "%s", out.data);
	strbuf_clear(&sql);
	strbuf_clear(&out);
	sql_texts_clear(&texts);
	return shown;
}

static void assert_rejected(const char *text, const char *why)
{
	if (nql_parse(text, &filter, reason) != ERR_INVALID)
		fail_msg("accepted: %s", text);
	if (!strstr(reason, why))
		fail_msg("%s: said \"%s\", not \"%s\"", text, reason, why);
}

#define ASSERT_SQL(text, sql) assert_string_equal(sql_of(text), sql)

TEST_CASE(compares_numbers)
{
	ASSERT_SQL("redirect_status:301", "(redirect_status = \"301\"::bigint)");
	ASSERT_SQL("redirect_status:-301", "(redirect_status = \"301\"::bigint) IS NOT TRUE");
	ASSERT_SQL("humans:>10", "(visits > \"10\"::bigint)");
	ASSERT_SQL("humans:>=10", "(visits >= \"10\"::bigint)");
	ASSERT_SQL("humans:<10", "(visits < \"10\"::bigint)");
	ASSERT_SQL("humans:<='10'", "(visits <= \"10\"::bigint)");
	ASSERT_SQL("id:[1,2, 3 ]", "(id = ANY (\"{\"1\",\"2\",\"3\"}\"::bigint[]))");
	ASSERT_SQL("id:-[1]", "(id = ANY (\"{\"1\"}\"::bigint[])) IS NOT TRUE");
	assert_true(nql_parse("humans:1", &filter, reason) == OK && nql_needs_ranking(&filter));
	assert_true(nql_parse("id:1", &filter, reason) == OK && !nql_needs_ranking(&filter));
}

TEST_CASE(a_time_stands_for_its_whole_millisecond)
{
	ASSERT_SQL("created_at:2026-11-20T08:00:00.123Z",
	           "(created_at >= \"2026-11-20T08:00:00.123000Z\"::timestamptz AND "
	           "created_at < \"2026-11-20T08:00:00.123000Z\"::timestamptz + interval '1 ms')");
	ASSERT_SQL(
		"created_at:>2026-11-20",
		"(created_at >= \"2026-11-20T00:00:00.000000Z\"::timestamptz + interval '1 ms')");
	ASSERT_SQL("created_at:>='2026-11-20T09:00:00.1239+01:00'",
	           "(created_at >= \"2026-11-20T08:00:00.123000Z\"::timestamptz)");
	ASSERT_SQL("created_at:<2026-11-20",
	           "(created_at < \"2026-11-20T00:00:00.000000Z\"::timestamptz)");
	ASSERT_SQL("created_at:<=2026-11-20",
	           "(created_at < \"2026-11-20T00:00:00.000000Z\"::timestamptz + interval '1 ms')");
	ASSERT_SQL("expires_at:null", "(expires_at IS NULL)");
	ASSERT_SQL("expires_at:-null", "(expires_at IS NULL) IS NOT TRUE");
}

TEST_CASE(matches_texts_and_tags)
{
	ASSERT_SQL(
		"slug:a-b_C",
		"(id = ANY (ARRAY(SELECT id FROM links WHERE slug_key IN (lower(\"a-b_C\"::text COLLATE \"C\"), '=' || \"a-b_C\") "
		"AND (slug = \"a-b_C\" OR (slug_chosen AND NOT slug_exact)) "
		"UNION ALL SELECT link_id FROM link_aliases WHERE slug_key IN (lower(\"a-b_C\"::text COLLATE \"C\"), '=' || \"a-b_C\") "
		"AND (slug = \"a-b_C\" OR (slug_chosen AND NOT slug_exact)))))");
	ASSERT_SQL("title:'It\\'s a \\\\ \"title\"'", "(title = \"It's a \\ \"title\"\"::text)");
	ASSERT_SQL("title:''", "(title = \"\"::text)");
	ASSERT_SQL("title:null", "(title = \"null\"::text)");
	ASSERT_SQL("expired_url:'null'", "(expired_url = \"null\"::text)");
	ASSERT_SQL("expired_url:~'50%_\\\\'",
	           "(expired_url COLLATE \"default\" ILIKE \"%50\\%\\_\\\\%\")");
	ASSERT_SQL(
		"title:~'a b 42x'",
		"(title COLLATE \"default\" ILIKE \"%a b 42x%\" AND "
		"(slug COLLATE \"default\" || E'\\n' || original_url || E'\\n' || title || E'\\n' || shown_url) ILIKE \"% b 42x%\")");
	ASSERT_SQL("expired_url:~^'50%'", "(expired_url COLLATE \"default\" ILIKE \"50\\%%\")");
	ASSERT_SQL("title:-~summer", "(title COLLATE \"default\" ILIKE \"%summer%\") IS NOT TRUE");
	ASSERT_SQL("tag:sale", "(tags @> ARRAY[\"sale\"::text])");
	ASSERT_SQL("tags:-sale", "(tags @> ARRAY[\"sale\"::text]) IS NOT TRUE");
	ASSERT_SQL("tag:['a,b','c\"d\\\\',e]",
	           "(tags && \"{\"a,b\",\"c\\\"d\\\\\",\"e\"}\"::text[])");
	ASSERT_SQL("tag:~sa",
	           "(EXISTS (SELECT FROM unnest(tags) AS one_tag WHERE one_tag ILIKE \"%sa%\"))");
	ASSERT_SQL("original_url:https://x.de/?a=1&b=%20#c",
	           "(original_url = \"https://x.de/?a=1&b=%20#c\"::text)");
	ASSERT_SQL("title:\xc3\x9c", "(title = \"\xc3\x9c\"::text)");
}

TEST_CASE(binds_and_closer_than_or)
{
	ASSERT_SQL("id:1,id:2+id:3",
	           "((id = \"1\"::bigint) OR ((id = \"2\"::bigint) AND (id = \"3\"::bigint)))");
	ASSERT_SQL("(id:1,id:2)+id:3",
	           "(((id = \"1\"::bigint) OR (id = \"2\"::bigint)) AND (id = \"3\"::bigint))");
	ASSERT_SQL("id:1+id:2+id:3",
	           "(((id = \"1\"::bigint) AND (id = \"2\"::bigint)) AND (id = \"3\"::bigint))");
	ASSERT_SQL("((id:1))", "(id = \"1\"::bigint)");
}

/* An unescaped "+" in a URL arrives as a space. */
TEST_CASE(treats_a_space_between_terms_as_and)
{
	static const char both[] = "((id = \"1\"::bigint) AND (id = \"2\"::bigint))";
	static const char either[] = "((id = \"1\"::bigint) OR (id = \"2\"::bigint))";
	ASSERT_SQL("id:1 id:2", both);
	ASSERT_SQL(" id:1  +  id:2 ", both);
	ASSERT_SQL("id:1 (id:2)", both);
	ASSERT_SQL("( id:1 , id:2 )", either);
	ASSERT_SQL("(id:1) ,id:2", either);
	assert_rejected("id:1(id:2)", "at character 5: expected +, a comma or the end");
	assert_rejected("id: 1", "at character 4: expected a value");
}

TEST_CASE(reports_the_position_of_an_error)
{
	static const struct {
		const char *text, *why;
	} invalid[] = {
		{ "", "at character 1: expected a field or (" },
		{ "   ", "at character 4: expected a field or (" },
		{ "workspace_id:1", "at character 1: unknown field workspace_id" },
		{ "claim_token_hash:x", "unknown field claim_token_hash" },
		{ "password_hash:x", "unknown field password_hash" },
		{ "ID:1", "at character 1: expected a field or (" },
		{ "id", "at character 3: expected :" },
		{ "id:", "at character 4: expected a value" },
		{ "id:1+", "at character 6: expected a field or (" },
		{ "id:1,", "at character 6: expected a field or (" },
		{ "id:1)", "at character 5: expected +, a comma or the end" },
		{ "(id:1", "at character 6: expected ), + or ," },
		{ "id:[1", "at character 6: expected ]" },
		{ "id:[]", "at character 5: expected a value" },
		{ "id:[1,]", "at character 7: expected a value" },
		{ "id:--1", "at character 5: expected a value" },
		{ "id:->1", "use the opposite comparison" },
		{ "id:1;DROP TABLE links", "id must be a whole number" },
		{ "id:1.5", "id must be a whole number" },
		{ "id:99999999999999999999", "id must be a whole number" },
		{ "id:null", "id must be a whole number" },
		{ "id:~1", "id does not support ~" },
		{ "slug:>a", "slug cannot be compared" },
		{ "state:gone",
		  "state must be active, disabled, expired or scheduled, not 'gone'" },
		{ "state:active&tag:odd", "scheduled, not 'active&tag:odd'" },
		{ "state:active AND tag:odd",
		  "at character 14: expected a field or (; quote a value" },
		{ "title:Summer 1", "at character 14: expected a field or (; quote a value" },
		{ "title:Summer walk", "unknown field walk; quote a value that contains a space" },
		{ "created_at:>2026-11-01T00:00:00+01:00",
		  "not '2026-11-01T00:00:00'; quote a time with an offset" },
		{ "created_at:>2026-11-01T00:00:00 01:00", "; quote a time with an offset" },
		{ "state:deleted", "use the parameter state=deleted" },
		{ "state:[active,GONE]", "at character 15: state must be" },
		{ "link_type:x", "link_type must be temporary or permanent" },
		{ "created_at:yesterday", "created_at must be a time like" },
		{ "created_at:2026-13-01", "created_at must be a time like" },
		{ "expires_at:>null", "expires_at must be a time like" },
		{ "title:'open", "no closing quote" },
		{ "title:'\\n'", "at character 9: the value has no closing quote" },
		{ "title:a'b", "at character 8: expected +, a comma or the end" },
		{ "title:\"a\"", "at character 7: expected a value" },
		{ "title:~''", "a non-empty text" },
		{ "tag:''", "a non-empty text" },
		{ "title:'\x01'", "an invalid character" },
		{ "title:'\xc3\x9c'+x:1", "at character 11: unknown field x" },
	};
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		assert_rejected(invalid[i].text, invalid[i].why);
}

static void repeat(char *out, const char *text, int times, const char *end)
{
	*out = '\0';
	while (times-- > 0)
		out = stpcpy(out, text);
	stpcpy(out, end);
}

static void begin_with(char *text, const char *begin)
{
	size_t len = strlen(begin);
	memmove(text + len, text, strlen(text) + 1);
	for (size_t i = 0; i < len; i++)
		text[i] = begin[i];
}

TEST_CASE(limits_nesting_terms_values_and_length)
{
	static char text[NQL_BYTES_MAX + 64];
	char closed[64];
	repeat(text, "(", NQL_DEPTH_MAX, "id:1");
	repeat(closed, ")", NQL_DEPTH_MAX, "");
	stpcpy(text + strlen(text), closed);
	assert_int_equal(nql_parse(text, &filter, reason), OK);
	repeat(text, "(", NQL_DEPTH_MAX + 1, "id:1");
	assert_rejected(text,
	                "at character 17: parentheses are nested too deeply; at most 16 levels");

	repeat(text, "id:1+", NQL_TERMS_MAX - 1, "id:1");
	assert_int_equal(nql_parse(text, &filter, reason), OK);
	repeat(text, "id:1+", NQL_TERMS_MAX, "id:1");
	assert_rejected(text, "too many terms; at most 15");

	repeat(text, "1,", NQL_VALUES_MAX - 1, "1]");
	begin_with(text, "id:[");
	assert_int_equal(nql_parse(text, &filter, reason), OK);
	repeat(text, "1,", NQL_VALUES_MAX, "1]");
	begin_with(text, "id:[");
	assert_rejected(text, "too many values; at most 100");

	repeat(text, "x", NQL_BYTES_MAX - 5, "");
	begin_with(text, "slug:");
	assert_int_equal(nql_parse(text, &filter, reason), OK);
	stpcpy(text + strlen(text), "x");
	assert_rejected(text, "the filter is too long; at most 2000 bytes");
}

TEST_CASE(leaves_parameters_for_the_rest_of_the_statement)
{
	static char text[NQL_BYTES_MAX];
	struct strbuf sql;
	struct pg_params params = { 0 };
	struct sql_texts texts = { 0 };
	repeat(text, "title:~abc,", NQL_TERMS_MAX - 1, "title:~abc");
	assert_int_equal(nql_parse(text, &filter, reason), OK);
	strbuf_init(&sql, 32 * 1024);
	nql_sql_add(&filter, &sql, &params, &texts);
	assert_int_equal(strbuf_status(&sql), OK);
	assert_int_equal(params.count, NQL_SQL_PARAMS_MAX);
	assert_true(params.count + 8 <= PG_PARAMS_MAX);
	strbuf_clear(&sql);
	sql_texts_clear(&texts);
}

TEST_MAIN()
