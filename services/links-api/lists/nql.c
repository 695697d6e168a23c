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
#include "lib/links/link_extras.h"

#define SHOWN_SIZE 33
#define US_PER_MS 1000

/*
 * The meaning of a character depends on its position: "-" negates before a value and is an ordinary
 * character inside one, and times contain ":".
 */
struct lexer {
	const char *text;
	size_t len;
	size_t at;
};

struct parser {
	struct lexer lexer;
	struct nql *out;
	size_t texts_len;
	size_t depth;
	char *reason;
};

/* --- tokens: the parser asks for the one that it expects --- */

/* The next byte, '\0' at the end. */
static char peek(const struct lexer *lexer)
{
	if (lexer->at == lexer->len)
		return '\0';
	return lexer->text[lexer->at];
}

/* True if there were any. */
static bool skip_spaces(struct lexer *lexer)
{
	size_t start = lexer->at;
	while (peek(lexer) == ' ')
		lexer->at++;
	return lexer->at > start;
}

/* Consumes word if it comes next. */
static bool take(struct lexer *lexer, const char *word)
{
	size_t len = strlen(word);
	if (lexer->len - lexer->at < len || memcmp(lexer->text + lexer->at, word, len) != 0)
		return false;
	lexer->at += len;
	return true;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

/* Consumes a name of a-z and _. *len 0 = none comes next. */
static const char *take_name(struct lexer *lexer, size_t *len)
{
	const char *name = lexer->text + lexer->at;
	size_t start = lexer->at;
	while (is_name(peek(lexer)))
		lexer->at++;
	*len = lexer->at - start;
	return name;
}

/* Copies the next character. False: a value must not contain it. */
static bool copy_next(struct lexer *lexer, char *out, size_t *out_len)
{
	const char *from = lexer->text + lexer->at;
	size_t step = utf8_next(from, lexer->len - lexer->at);
	if (step == 0 || utf8_is_control(from))
		return false;
	memcpy(out + *out_len, from, step);
	*out_len += step;
	lexer->at += step;
	return true;
}

static enum err quoted(struct lexer *lexer, char *out, size_t *out_len)
{
	while (lexer->at < lexer->len) {
		if (take(lexer, "'")) {
			out[*out_len] = '\0';
			return OK;
		}
		bool is_escaped = take(lexer, "\\");
		char next = peek(lexer);
		if ((is_escaped && next != '\'' && next != '\\') || !copy_next(lexer, out, out_len))
			return ERR_INVALID;
	}
	return ERR_INVALID;
}

static bool ends_bare(char c)
{
	return strchr(" +,()[]'\"\\", c) != NULL;
}

/*
 * Consumes a value. A quoted value is '…' with the escapes \' and \\. A bare value contains no
 * space and none of + , ( ) [ ] ' " \ and does not begin with "-". out has room for the rest of the
 * text and a NUL.
 *   ERR_NOT_FOUND  no value comes next
 *   ERR_INVALID    a missing closing quote, an unknown escape or a control character; lexer->at is
 *                  its offset
 */
static enum err take_value(struct lexer *lexer, char *out, size_t *out_len, bool *is_bare)
{
	*out_len = 0;
	*is_bare = false;
	if (take(lexer, "'"))
		return quoted(lexer, out, out_len);
	*is_bare = true;
	if (peek(lexer) == '-')
		return ERR_NOT_FOUND;
	while (!ends_bare(peek(lexer))) {
		if (!copy_next(lexer, out, out_len))
			return ERR_INVALID;
	}
	out[*out_len] = '\0';
	return *out_len > 0 ? OK : ERR_NOT_FOUND;
}

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

static const char *read_feature(const char *text, int64_t *bit)
{
	static const struct {
		const char *name;
		enum link_feature bit;
	} features[] = {
		{ "rules", LINK_FEATURE_RULES },     { "split", LINK_FEATURE_SPLIT },
		{ "limit", LINK_FEATURE_LIMIT },     { "password", LINK_FEATURE_PASSWORD },
		{ "forward", LINK_FEATURE_FORWARD }, { "preview", LINK_FEATURE_PREVIEW },
	};
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (strcmp(text, features[i].name) == 0) {
			*bit = features[i].bit;
			return NULL;
		}
	}
	return "rules, split, limit, password, forward or preview";
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
	case NQL_FIELD_FEATURE:
		return read_feature(text, &out->number);
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
	{ ">=", NQL_GREATER_OR_EQUAL },
	{ ">", NQL_GREATER },
	{ "<=", NQL_LESS_OR_EQUAL },
	{ "<", NQL_LESS },
	{ "~^", NQL_BEGINS },
	{ "~", NQL_CONTAINS },
	{ "[", NQL_ONE_OF },
};

static enum nql_operator read_operator(struct lexer *lexer)
{
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (take(lexer, signs[i].sign))
			return signs[i].op;
	}
	return NQL_EQUAL;
}

static bool is_order(enum nql_operator op)
{
	return op >= NQL_GREATER && op <= NQL_LESS_OR_EQUAL;
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
	if ((term->op == NQL_CONTAINS || term->op == NQL_BEGINS) && !has_text(term->field))
		return fail(p, at, "%s does not support ~", term->field->name);
	return OK;
}

/* Shows the value: without quotes it ends at a space or a "+", where the writer may not expect it. */
static enum err fail_value(struct parser *p, size_t at, const struct nql_node *term,
                           const char *expected, const char *text)
{
	char shown[SHOWN_SIZE];
	char next = peek(&p->lexer);
	bool is_cut = term->field->type == NQL_FIELD_TIME && (next == '+' || next == ' ');
	utf8_copy_clean(text, strlen(text), shown, sizeof(shown));
	return fail(p, at, "%s must be %s, not '%s'%s", term->field->name, expected, shown,
	            is_cut ? "; quote a time with an offset" : "");
}

static enum err read_value(struct parser *p, struct nql_node *term)
{
	struct nql *out = p->out;
	size_t start = p->lexer.at, len;
	bool is_bare;
	if (out->value_count == NQL_VALUES_MAX)
		return fail(p, start, "too many values; at most %d are allowed", NQL_VALUES_MAX);
	struct nql_value *value = &out->values[out->value_count];
	char *text = out->texts + p->texts_len;
	*value = (struct nql_value){ .text = (uint16_t)p->texts_len };
	enum err err = take_value(&p->lexer, text, &len, &is_bare);
	if (err == ERR_NOT_FOUND)
		return fail(p, start, "expected a value");
	if (err != OK)
		return fail(p, p->lexer.at,
		            "the value has no closing quote or contains an invalid character");
	const char *expected = convert(term, text, is_bare, value);
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
		skip_spaces(&p->lexer);
		enum err err = read_value(p, term);
		if (err != OK)
			return err;
		skip_spaces(&p->lexer);
	} while (take(&p->lexer, ","));
	return take(&p->lexer, "]") ? OK : fail(p, p->lexer.at, "expected ]");
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
	const char *name = take_name(&p->lexer, &len);
	if (len == 0)
		return fail(p, start, "expected a field or (%s", hint_at(p, start));
	term->field = nql_sql_find_field(name, len);
	if (!term->field)
		return fail_unknown_field(p, start, name, len);
	if (!take(&p->lexer, ":"))
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
		term.is_not = take(&p->lexer, "-");
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
	skip_spaces(&p->lexer);
	if (!take(&p->lexer, "("))
		return read_term(p, place);
	if (p->depth == NQL_DEPTH_MAX)
		return fail(p, p->lexer.at - 1,
		            "parentheses are nested too deeply; at most %d levels are allowed",
		            NQL_DEPTH_MAX);
	p->depth++;
	enum err err = read_alternatives(p, place);
	p->depth--;
	if (err == OK && !take(&p->lexer, ")"))
		err = fail(p, p->lexer.at, "expected ), + or ,");
	return err;
}

/* An unescaped "+" arrives as a space, so a space between two terms means "and". */
static bool take_and(struct lexer *lexer)
{
	bool is_apart = skip_spaces(lexer);
	if (take(lexer, "+"))
		return true;
	char next = peek(lexer);
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
	while (err == OK && take(&p->lexer, ",")) {
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
