#include "services/links-api/lists/nql.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/base/utf8.h"
#include "lib/links/link.h"
#include "services/links-api/lists/nql_lexer.h"

#define SHOWN_SIZE 33
#define US_PER_MS 1000

struct parser {
	struct nql_lexer lexer;
	struct nql *out;
	size_t texts_len;
	size_t depth;
	char *reason;
};

__attribute__((format(printf, 3, 4))) static enum err fail(struct parser *p, size_t at,
                                                           const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int len = snprintf(p->reason, NQL_REASON_SIZE,
	                   "at character %zu: ", utf8_length(p->lexer.text, at) + 1);
	vsnprintf(p->reason + len, NQL_REASON_SIZE - (size_t)len, format, args);
	va_end(args);
	return ERR_INVALID;
}

/* --- the text of a value in the type of its field --- */

static const char *read_time(const char *text, int64_t *time_us)
{
	char midnight[TIMESTAMP_TEXT_SIZE];
	enum err err = timestamp_parse(text, time_us);
	if (err != OK && strlen(text) == strlen("2026-11-20")) {
		snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
		err = timestamp_parse(midnight, time_us);
	}
	if (err != OK)
		return "a time like 2026-11-20T08:00:00Z or a date like 2026-11-20";
	*time_us -= *time_us % US_PER_MS; /* responses show times in ms */
	return NULL;
}

static const char *read_state(const char *text)
{
	enum link_state state;
	if (link_state_parse(text, &state) != OK)
		return "active, disabled, expired or scheduled";
	return state == LINK_STATE_DELETED
	               ? "active, disabled, expired or scheduled (use the parameter state=deleted)"
	               : NULL;
}

static const char *read_link_type(const char *text)
{
	enum link_type type;
	return link_type_parse(text, &type) == OK ? NULL : "temporary or permanent";
}

static const char *read_typed(const struct nql_node *term, const char *text, struct nql_value *out)
{
	switch (term->field->type) {
	case NQL_FIELD_NUMBER:
		return number_parse(text, INT64_MIN, INT64_MAX, &out->number) == OK
		               ? NULL
		               : "a whole number";
	case NQL_FIELD_TIME:
		return read_time(text, &out->number);
	case NQL_FIELD_STATE:
		return read_state(text);
	case NQL_FIELD_LINK_TYPE:
		return read_link_type(text);
	case NQL_FIELD_TEXT:
	case NQL_FIELD_TAGS:
		break;
	}
	return *text ? NULL : "a non-empty text";
}

/*
 * Fills is_null and number of out. is_bare: the value was not quoted, so that null means NULL.
 * Returns NULL if the value is valid, otherwise what it must be: "a whole number".
 */
static const char *convert(const struct nql_node *term, const char *text, bool is_bare,
                           struct nql_value *out)
{
	bool is_null = is_bare && strcmp(text, "null") == 0;
	if (is_null && term->field->is_nullable && term->op == NQL_EQUAL) {
		out->is_null = true;
		return NULL;
	}
	/* A missing title is stored as an empty text. */
	if (term->field->type == NQL_FIELD_TEXT && term->op == NQL_EQUAL && !*text)
		return NULL;
	return read_typed(term, text, out);
}

/* --- one term --- */

static const struct {
	const char *sign;
	enum nql_operator op;
} signs[] = {
	{ ">=", NQL_GREATER_OR_EQUAL }, { ">", NQL_GREATER },
	{ "<=", NQL_LESS_OR_EQUAL },    { "<", NQL_LESS },
	{ "~", NQL_CONTAINS },          { "[", NQL_ONE_OF },
};

static enum nql_operator read_operator(struct nql_lexer *lexer)
{
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (nql_lexer_take(lexer, signs[i].sign))
			return signs[i].op;
	}
	return NQL_EQUAL;
}

static bool is_order(enum nql_operator op)
{
	return op != NQL_EQUAL && op != NQL_CONTAINS && op != NQL_ONE_OF;
}

static bool has_order(const struct nql_field *field)
{
	return field->type == NQL_FIELD_NUMBER || field->type == NQL_FIELD_TIME;
}

static bool has_text(const struct nql_field *field)
{
	return field->type == NQL_FIELD_TEXT || field->type == NQL_FIELD_TAGS;
}

static enum err check_operator(struct parser *p, size_t at, const struct nql_node *term)
{
	if (is_order(term->op) && !has_order(term->field))
		return fail(p, at, "%s cannot be compared with < or >", term->field->name);
	if (is_order(term->op) && term->is_not)
		return fail(p, at, "use the opposite comparison instead of -");
	if (term->op == NQL_CONTAINS && !has_text(term->field))
		return fail(p, at, "%s does not support ~", term->field->name);
	return OK;
}

/* Shows the value: without quotes it ends at a space or a "+", where the writer may not expect it. */
static enum err fail_value(struct parser *p, size_t at, const struct nql_node *term,
                           const char *expected, const char *text)
{
	char shown[SHOWN_SIZE];
	char next = nql_lexer_peek(&p->lexer);
	bool is_cut = term->field->type == NQL_FIELD_TIME && (next == '+' || next == ' ');
	utf8_copy_clean(text, strlen(text), shown, sizeof(shown));
	return fail(p, at, "%s must be %s, not '%s'%s", term->field->name, expected, shown,
	            is_cut ? "; quote a time with an offset" : "");
}

static enum err read_value(struct parser *p, struct nql_node *term)
{
	struct nql *out = p->out;
	size_t start = p->lexer.at, len;
	enum nql_lexer_form form;
	if (out->value_count == NQL_VALUES_MAX)
		return fail(p, start, "too many values; at most %d are allowed", NQL_VALUES_MAX);
	struct nql_value *value = &out->values[out->value_count];
	char *text = out->texts + p->texts_len;
	*value = (struct nql_value){ .text = (uint16_t)p->texts_len };
	enum err err = nql_lexer_value(&p->lexer, text, &len, &form);
	if (err == ERR_NOT_FOUND)
		return fail(p, start, "expected a value");
	if (err != OK)
		return fail(p, p->lexer.at,
		            "the value has no closing quote or contains an invalid character");
	const char *expected = convert(term, text, form == NQL_LEXER_BARE, value);
	if (expected)
		return fail_value(p, start, term, expected, text);
	p->texts_len += len + 1;
	out->value_count++;
	term->value_count++;
	return OK;
}

static enum err read_values(struct parser *p, struct nql_node *term)
{
	term->value = p->out->value_count;
	if (term->op != NQL_ONE_OF)
		return read_value(p, term);
	do {
		nql_lexer_skip_spaces(&p->lexer);
		enum err err = read_value(p, term);
		if (err != OK)
			return err;
		nql_lexer_skip_spaces(&p->lexer);
	} while (nql_lexer_take(&p->lexer, ","));
	return nql_lexer_take(&p->lexer, "]") ? OK : fail(p, p->lexer.at, "expected ]");
}

/* For an error at a field: after a space, it may be the rest of a value, or a word such as AND. */
static const char *hint_at(const struct parser *p, size_t at)
{
	bool follows_space = at > 0 && p->out->term_count > 0 && p->lexer.text[at - 1] == ' ';
	return follows_space ? "; quote a value that contains a space, join terms with + or ," : "";
}

static enum err fail_unknown_field(struct parser *p, size_t at, const char *name, size_t len)
{
	const char *hint = hint_at(p, at);
	return fail(p, at, "unknown field %.*s%s", len > 40 ? 40 : (int)len, name,
	            hint[0] != '\0' ? hint : "; /docs/nql.md lists the fields");
}

static enum err read_field(struct parser *p, struct nql_node *term)
{
	size_t start = p->lexer.at, len;
	const char *name = nql_lexer_name(&p->lexer, &len);
	if (len == 0)
		return fail(p, start, "expected a field or (%s", hint_at(p, start));
	term->field = nql_field_find(name, len);
	if (!term->field)
		return fail_unknown_field(p, start, name, len);
	if (!nql_lexer_take(&p->lexer, ":"))
		return fail(p, p->lexer.at, "expected :");
	return OK;
}

static void add_node(struct parser *p, const struct nql_node *node, uint8_t *place)
{
	*place = p->out->node_count;
	p->out->nodes[p->out->node_count++] = *node;
}

static enum err read_term(struct parser *p, uint8_t *place)
{
	struct nql_node term = { .kind = NQL_TERM };
	if (p->out->term_count == NQL_TERMS_MAX)
		return fail(p, p->lexer.at, "too many terms; at most %d are allowed",
		            NQL_TERMS_MAX);
	enum err err = read_field(p, &term);
	size_t start = p->lexer.at;
	if (err == OK) {
		term.is_not = nql_lexer_take(&p->lexer, "-");
		term.op = read_operator(&p->lexer);
		err = check_operator(p, start, &term);
	}
	if (err == OK)
		err = read_values(p, &term);
	if (err != OK)
		return err;
	p->out->term_count++;
	add_node(p, &term, place);
	return OK;
}

/* --- combinations of terms --- */

static enum err read_alternatives(struct parser *p, uint8_t *place);

static enum err read_factor(struct parser *p, uint8_t *place)
{
	nql_lexer_skip_spaces(&p->lexer);
	if (!nql_lexer_take(&p->lexer, "("))
		return read_term(p, place);
	if (p->depth == NQL_DEPTH_MAX)
		return fail(p, p->lexer.at - 1,
		            "parentheses are nested too deeply; at most %d levels are allowed",
		            NQL_DEPTH_MAX);
	p->depth++;
	enum err err = read_alternatives(p, place);
	p->depth--;
	if (err == OK && !nql_lexer_take(&p->lexer, ")"))
		err = fail(p, p->lexer.at, "expected ), + or ,");
	return err;
}

/* An unescaped "+" arrives as a space, so a space between two terms means "and". */
static bool take_and(struct nql_lexer *lexer)
{
	bool is_apart = nql_lexer_skip_spaces(lexer);
	if (nql_lexer_take(lexer, "+"))
		return true;
	char next = nql_lexer_peek(lexer);
	return is_apart && next != '\0' && next != ',' && next != ')';
}

static enum err read_conjunction(struct parser *p, uint8_t *place)
{
	enum err err = read_factor(p, place);
	while (err == OK && take_and(&p->lexer)) {
		struct nql_node both = { .kind = NQL_AND, .left = *place };
		err = read_factor(p, &both.right);
		if (err == OK)
			add_node(p, &both, place);
	}
	return err;
}

static enum err read_alternatives(struct parser *p, uint8_t *place)
{
	enum err err = read_conjunction(p, place);
	while (err == OK && nql_lexer_take(&p->lexer, ",")) {
		struct nql_node either = { .kind = NQL_OR, .left = *place };
		err = read_conjunction(p, &either.right);
		if (err == OK)
			add_node(p, &either, place);
	}
	return err;
}

enum err nql_parse(const char *text, struct nql *out, char reason[static NQL_REASON_SIZE])
{
	struct parser p = { .lexer = { .text = text, .len = strlen(text) },
		            .out = out,
		            .reason = reason };
	uint8_t root;
	out->node_count = out->term_count = out->value_count = 0;
	if (p.lexer.len > NQL_BYTES_MAX)
		return fail(&p, 0, "the filter is too long; at most %d bytes are allowed",
		            NQL_BYTES_MAX);
	enum err err = read_alternatives(&p, &root);
	if (err == OK && p.lexer.at < p.lexer.len)
		err = fail(&p, p.lexer.at, "expected +, a comma or the end");
	return err;
}

bool nql_needs_ranking(const struct nql *filter)
{
	for (size_t i = 0; i < filter->node_count; i++) {
		if (filter->nodes[i].kind == NQL_TERM && filter->nodes[i].field->needs_ranking)
			return true;
	}
	return false;
}

const char *nql_text(const struct nql *filter, const struct nql_value *value)
{
	return filter->texts + value->text;
}
