#include "services/links-api/lists/nql.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/links/link_aliases.h"
#include "lib/links/link_row.h"
#include "services/links-api/lists/link_search.h"

/* The same state as link_state_at. */
#define STATE_NOW                                                                                  \
	"lower(CASE WHEN state = 'ACTIVE' AND expires_at <= statement_timestamp() THEN 'EXPIRED' " \
	"WHEN state = 'ACTIVE' AND starts_at > statement_timestamp() THEN 'SCHEDULED' ELSE state END)"

#define VERSION "(" LINK_ROW_VERSION ")"

/* clang-format off */
static const struct nql_field fields[] = {
	{ "id",                 NQL_FIELD_NUMBER,    false, false, false, "id" },
	{ "slug",               NQL_FIELD_TEXT,      false, false, true,  "slug" },
	{ "original_url",       NQL_FIELD_TEXT,      false, false, true,  "original_url" },
	{ "title",              NQL_FIELD_TEXT,      false, false, true,  "title" },
	{ "tag",                NQL_FIELD_TAGS,      false, false, false, "tags" },
	{ "tags",               NQL_FIELD_TAGS,      false, false, false, "tags" },
	{ "external_id",        NQL_FIELD_TEXT,      true,  false, false, "external_id" },
	{ "state",              NQL_FIELD_STATE,     false, false, false, STATE_NOW },
	{ "has",                NQL_FIELD_FEATURE,   false, false, false, "features" },
	{ "link_type",          NQL_FIELD_LINK_TYPE, false, false, false, "lower(link_type)" },
	{ "redirect_status",    NQL_FIELD_NUMBER,    false, false, false, "redirect_status" },
	{ "starts_at",          NQL_FIELD_TIME,      true,  false, false, "starts_at" },
	{ "expires_at",         NQL_FIELD_TIME,      true,  false, false, "expires_at" },
	{ "expired_url",        NQL_FIELD_TEXT,      true,  false, false, "expired_url" },
	{ "version",            NQL_FIELD_NUMBER,    false, false, false, VERSION },
	{ "humans",             NQL_FIELD_NUMBER,    false, true,  false, "visits" },
	{ "last_visited_at",    NQL_FIELD_TIME,      true,  true,  false, "NULLIF(visited_at, '-infinity')" },
	{ "destination_status", NQL_FIELD_NUMBER,    true,  false, false, "destination_status" },
	{ "last_checked_at",    NQL_FIELD_TIME,      true,  false, false, "last_checked_at" },
	{ "created_at",         NQL_FIELD_TIME,      false, false, false, "created_at" },
	{ "updated_at",         NQL_FIELD_TIME,      false, false, false, "updated_at" },
};
/* clang-format on */

const struct nql_field *nql_sql_find_field(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (strlen(fields[i].name) == len && memcmp(fields[i].name, name, len) == 0)
			return &fields[i];
	}
	return NULL;
}

/* --- SQL --- */

struct writer {
	const struct nql *filter;
	struct strbuf *sql;
	struct pg_params *params;
	struct sql_texts *texts;
};

#define WRITE(w, ...) strbuf_add_format((w)->sql, __VA_ARGS__)

static const char *type_of(const struct nql_field *field)
{
	if (field->type == NQL_FIELD_NUMBER)
		return "bigint";
	return field->type == NQL_FIELD_TIME ? "timestamptz" : "text";
}

static const struct nql_value *first_value(const struct writer *w, const struct nql_node *term)
{
	return &w->filter->values[term->value];
}

/* Returns the number of the new parameter; add_value does, too. */
static int add_text(const struct writer *w, const char *text)
{
	pg_params_text(w->params, text);
	return w->params->count;
}

static int add_value(const struct writer *w, const struct nql_node *term)
{
	const struct nql_value *value = first_value(w, term);
	if (term->field->type == NQL_FIELD_NUMBER)
		pg_params_int(w->params, value->number);
	else if (term->field->type == NQL_FIELD_TIME)
		pg_params_time(w->params, value->number);
	else
		pg_params_text(w->params, nql_text(w->filter, value));
	return w->params->count;
}

/* --- one term --- */

/* A text in one column is also in the joined text, so the trigram index can narrow the result. */
static void write_search(const struct writer *w, const char *text)
{
	struct link_search search;
	link_search_init(&search, text);
	link_search_choose(&search, 0);
	link_search_add_index(&search, w->sql, w->params, w->texts);
}

/* A text that begins with another one contains it. */
static void write_contains(const struct writer *w, const struct nql_node *term)
{
	/* A destination is looked for as people see it, too. */
	bool is_url = strcmp(term->field->sql, "original_url") == 0;
	const char *sql = is_url ? "(original_url || E'\\n' || shown_url)" : term->field->sql;
	const char *text = nql_text(w->filter, first_value(w, term));
	const char *like = sql_texts_like_containing(w->texts, text, strlen(text));
	int pattern = add_text(w, like + (term->op == NQL_BEGINS ? strlen("%") : 0));
	if (term->field->type == NQL_FIELD_TAGS)
		WRITE(w, "EXISTS (SELECT FROM unnest(%s) AS one_tag WHERE one_tag ILIKE $%d)", sql,
		      pattern);
	else
		WRITE(w, "%s COLLATE \"default\" ILIKE $%d", sql, pattern);
	if (term->field->is_searched && !term->is_not)
		write_search(w, text);
}

/* Any of the features: they are bits. */
static void write_features(const struct writer *w, const struct nql_node *term)
{
	int64_t bits = 0;
	for (size_t i = 0; i < term->value_count; i++)
		bits |= (first_value(w, term) + i)->number;
	pg_params_int(w->params, bits);
	WRITE(w, "(%s & $%d::int) <> 0", term->field->sql, w->params->count);
}

static void write_one_of(const struct writer *w, const struct nql_node *term)
{
	const struct nql_field *field = term->field;
	const char *items[NQL_VALUES_MAX];
	for (size_t i = 0; i < term->value_count; i++)
		items[i] = nql_text(w->filter, first_value(w, term) + i);
	int array = add_text(w, sql_texts_array(w->texts, items, term->value_count));
	if (field->type == NQL_FIELD_TAGS)
		WRITE(w, "%s && $%d::text[]", field->sql, array);
	else if (field->type == NQL_FIELD_TIME)
		WRITE(w,
		      "date_trunc('milliseconds', %s) = ANY (SELECT date_trunc('milliseconds', unnest($%d::timestamptz[])))",
		      field->sql, array);
	else
		WRITE(w, "%s = ANY ($%d::%s[])", field->sql, array, type_of(field));
}

static const char *sign_of(enum nql_operator op)
{
	static const char *const signs[] = {
		[NQL_EQUAL] = "=", [NQL_GREATER] = ">",        [NQL_GREATER_OR_EQUAL] = ">=",
		[NQL_LESS] = "<",  [NQL_LESS_OR_EQUAL] = "<=",
	};
	return signs[op];
}

/* Times are stored in µs and shown in ms. A value therefore stands for its whole millisecond. */
static void write_time(const struct writer *w, const struct nql_node *term)
{
	const char *sql = term->field->sql;
	int value = add_value(w, term);
	if (term->op == NQL_EQUAL)
		WRITE(w, "%s >= $%d::timestamptz AND %s < $%d::timestamptz + interval '1 ms'", sql,
		      value, sql, value);
	else if (term->op == NQL_GREATER || term->op == NQL_LESS_OR_EQUAL)
		WRITE(w, "%s %s $%d::timestamptz + interval '1 ms'", sql,
		      term->op == NQL_GREATER ? ">=" : "<", value);
	else
		WRITE(w, "%s %s $%d::timestamptz", sql, sign_of(term->op), value);
}

static void write_slug(const struct writer *w, int value)
{
	WRITE(w, LINK_ALIASES_ANSWER_TO("$%d"), value, value, value, value, value, value);
}

static void write_comparison(const struct writer *w, const struct nql_node *term)
{
	const struct nql_field *field = term->field;
	if (first_value(w, term)->is_null)
		WRITE(w, "%s IS NULL", field->sql);
	else if (field->type == NQL_FIELD_TAGS)
		WRITE(w, "%s @> ARRAY[$%d::text]", field->sql, add_value(w, term));
	else if (field->type == NQL_FIELD_TIME)
		write_time(w, term);
	else if (term->op == NQL_EQUAL && strcmp(field->sql, "slug") == 0)
		write_slug(w, add_value(w, term));
	else
		WRITE(w, "%s %s $%d::%s", field->sql, sign_of(term->op), add_value(w, term),
		      type_of(field));
}

static void write_term(const struct writer *w, const struct nql_node *term)
{
	WRITE(w, "(");
	if (term->field->type == NQL_FIELD_FEATURE)
		write_features(w, term);
	else if (term->op == NQL_CONTAINS || term->op == NQL_BEGINS)
		write_contains(w, term);
	else if (term->op == NQL_ONE_OF)
		write_one_of(w, term);
	else
		write_comparison(w, term);
	/* NULL is not equal to a value and contains nothing. */
	WRITE(w, term->is_not ? ") IS NOT TRUE" : ")");
}

/* --- the whole filter --- */

/* The recursion is bounded by NQL_TERMS_MAX. */
static void write_node(const struct writer *w, const struct nql_node *node)
{
	if (node->kind == NQL_TERM) {
		write_term(w, node);
		return;
	}
	WRITE(w, "(");
	write_node(w, &w->filter->nodes[node->left]);
	WRITE(w, node->kind == NQL_AND ? " AND " : " OR ");
	write_node(w, &w->filter->nodes[node->right]);
	WRITE(w, ")");
}

void nql_sql_add(const struct nql *filter, struct strbuf *sql, struct pg_params *params,
                 struct sql_texts *texts)
{
	const struct writer w = { .filter = filter, .sql = sql, .params = params, .texts = texts };
	write_node(&w, &filter->nodes[filter->node_count - 1]);
}
