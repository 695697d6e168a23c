#include "services/analytics-consumer/facts/user_agent_prefilter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define LITERALS_MAX 256
#define LITERAL_SIZE 16
#define TRIGRAM 3
#define DEPTH_MAX 20

struct literal {
	uint8_t count;
	/* Hashed to bits. */
	uint16_t trigrams[LITERAL_SIZE - TRIGRAM];
};

struct user_agent_prefilter {
	bool is_caseless;
	size_t count;
	struct literal literals[];
};

static uint16_t trigram_bit(const char *text)
{
	uint32_t trigram = 0;
	for (size_t i = 0; i < TRIGRAM; i++)
		trigram = trigram << 8 | (uint32_t)tolower((unsigned char)text[i]);
	return (uint16_t)(trigram * UINT32_C(0x9e3779b1) >> 20);
}

/* --- the required literals of an expression --- */

/* Alternative literals: a match contains at least one. An empty list: nothing is known. */
struct literals {
	size_t count;
	char texts[LITERALS_MAX][LITERAL_SIZE];
};

static size_t shortest(const struct literals *literals)
{
	size_t shortest = literals->count > 0 ? LITERAL_SIZE : 0;
	for (size_t i = 0; i < literals->count; i++) {
		size_t len = strlen(literals->texts[i]);
		shortest = len < shortest ? len : shortest;
	}
	return shortest;
}

/* Both lists are required: keeps the more selective one. */
static void keep_better(struct literals *best, const struct literals *other)
{
	size_t a = shortest(best);
	size_t b = shortest(other);
	if (b > a || (b == a && other->count < best->count))
		*best = *other;
}

/* One of both lists is required: appends branch to all. */
static void unite(struct literals *all, const struct literals *branch)
{
	if (all->count == 0 || branch->count == 0 || all->count + branch->count > LITERALS_MAX) {
		all->count = 0;
	} else {
		memcpy(all->texts[all->count], branch->texts,
		       branch->count * sizeof(branch->texts[0]));
		all->count += branch->count;
	}
}

/* Parses an expression. failed: it contains something that the parser does not support. */
struct parser {
	const char *at;
	bool failed;
	unsigned depth;
};

static bool take(struct parser *p, const char *text)
{
	size_t len = strlen(text);
	if (strncmp(p->at, text, len) != 0)
		return false;
	p->at += len;
	return true;
}

/* Skips a quantifier, if there is one. True when it makes the preceding item optional. */
static bool take_quantifier(struct parser *p)
{
	bool is_optional = *p->at == '?' || *p->at == '*' || *p->at == '{';
	if (!is_optional && *p->at != '+')
		return false;
	p->at += *p->at == '{' ? strcspn(p->at, "}") : 0;
	p->failed = p->failed || *p->at == '\0';
	if (p->failed)
		return true;
	p->at++;
	if (*p->at == '?' || *p->at == '+') /* lazy, possessive */
		p->at++;
	return is_optional;
}

static void skip_class(struct parser *p)
{
	p->at++;
	p->at += *p->at == '^';
	p->at += *p->at == ']'; /* at the beginning it is an ordinary character */
	while (!p->failed && *p->at != ']') {
		p->failed = *p->at == '\0' || *p->at == '[' || (*p->at == '\\' && p->at[1] == '\0');
		p->at += *p->at == '\\' ? 2 : 1;
	}
	p->at += !p->failed;
}

/* "[Bb]" */
static bool is_letter_in_any_case(const char *at)
{
	return at[0] == '[' && isalpha((unsigned char)at[1]) && at[1] != at[2] &&
	       tolower((unsigned char)at[1]) == tolower((unsigned char)at[2]) && at[3] == ']';
}

/* A character that stands for itself. On failure returns '\0'. */
static char take_character(struct parser *p)
{
	char c = *p->at;
	if (c == '[') {
		p->at += 4;
		return p->at[-2];
	}
	if (c == '\\') {
		c = p->at[1];
		/* \d and the like are handled elsewhere. Other letters and digits are special. */
		if (c == '\0' || isalnum((unsigned char)c)) {
			p->failed = true;
			return '\0';
		}
		p->at++;
	}
	if ((unsigned char)c >= 0x80) {
		p->failed = true;
		return '\0';
	}
	p->at++;
	return c;
}

/* The literal that is being read. */
struct run {
	size_t len;
	char text[LITERAL_SIZE];
};

static void end_run(struct run *run, struct literals *branch)
{
	if (run->len >= TRIGRAM) {
		struct literals literal = { .count = 1 };
		memcpy(literal.texts[0], run->text, run->len);
		keep_better(branch, &literal);
	}
	run->len = 0;
}

static void read_character(struct parser *p, struct run *run, struct literals *branch)
{
	char c = take_character(p);
	bool repeats = *p->at == '+';
	if (p->failed)
		return;
	if (take_quantifier(p)) {
		end_run(run, branch);
		return;
	}
	if (run->len == LITERAL_SIZE - 1)
		end_run(run, branch);
	run->text[run->len++] = c;
	if (repeats)
		end_run(run, branch);
}

static struct literals read_branches(struct parser *p);

static void read_group(struct parser *p, struct literals *branch)
{
	p->at++;
	bool looks_around = take(p, "?=") || take(p, "?!") || take(p, "?<=") || take(p, "?<!");
	if (!looks_around && *p->at == '?' && !take(p, "?:"))
		p->failed = true;
	if (++p->depth > DEPTH_MAX)
		p->failed = true;
	if (p->failed)
		return;
	struct literals inside = read_branches(p);
	p->depth--;
	p->failed = p->failed || !take(p, ")");
	if (!p->failed && !take_quantifier(p) && !looks_around)
		keep_better(branch, &inside);
}

/* Skips an item that matches an unknown character or an empty text. True if there was one. */
static bool skip_unknown(struct parser *p)
{
	if (is_letter_in_any_case(p->at))
		return false;
	if (*p->at == '[')
		skip_class(p);
	else if (*p->at == '.' || *p->at == '^' || *p->at == '$')
		p->at++;
	else if (*p->at == '\\' && p->at[1] != '\0' && strchr("dDwWsSbB", p->at[1]))
		p->at += 2;
	else
		return false;
	if (!p->failed)
		(void)take_quantifier(p);
	return true;
}

static struct literals read_branch(struct parser *p)
{
	struct literals branch = { 0 };
	struct run run = { 0 };
	while (!p->failed && *p->at != '\0' && *p->at != '|' && *p->at != ')') {
		if (*p->at == '(') {
			end_run(&run, &branch);
			read_group(p, &branch);
		} else if (strchr("*+?{", *p->at)) {
			p->failed = true;
		} else if (skip_unknown(p)) {
			end_run(&run, &branch);
		} else {
			read_character(p, &run, &branch);
		}
	}
	end_run(&run, &branch);
	return branch;
}

static struct literals read_branches(struct parser *p)
{
	struct literals all = read_branch(p);
	while (!p->failed && take(p, "|")) {
		struct literals branch = read_branch(p);
		unite(&all, &branch);
	}
	return all;
}

/* --- the filter --- */

static struct literal literal_of(const char *text)
{
	struct literal literal = { 0 };
	size_t count = strlen(text) - TRIGRAM + 1;
	for (size_t i = 0; i < count; i++)
		literal.trigrams[i] = trigram_bit(text + i);
	literal.count = (uint8_t)count;
	return literal;
}

struct user_agent_prefilter *user_agent_prefilter_new(const char *regex, bool is_caseless)
{
	struct parser p = { .at = regex };
	struct literals required = read_branches(&p);
	if (p.failed || *p.at != '\0' || required.count == 0)
		return NULL;
	struct user_agent_prefilter *filter =
		mem_zero(sizeof(*filter) + required.count * sizeof(filter->literals[0]));
	filter->is_caseless = is_caseless;
	filter->count = required.count;
	for (size_t i = 0; i < required.count; i++)
		filter->literals[i] = literal_of(required.texts[i]);
	return filter;
}

void user_agent_prefilter_free(struct user_agent_prefilter *filter)
{
	free(filter);
}

void user_agent_prefilter_scan(const char *text, size_t len, struct user_agent_prefilter_text *out)
{
	*out = (struct user_agent_prefilter_text){ .is_ascii = true };
	for (size_t i = 0; i < len; i++)
		out->is_ascii = out->is_ascii && (unsigned char)text[i] < 0x80;
	for (size_t i = 0; i + TRIGRAM <= len; i++) {
		uint16_t bit = trigram_bit(text + i);
		out->bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

static bool has_literal(const struct user_agent_prefilter_text *text, const struct literal *literal)
{
	for (size_t i = 0; i < literal->count; i++) {
		if (!(text->bits[literal->trigrams[i] / 64] >> literal->trigrams[i] % 64 & 1))
			return false;
	}
	return true;
}

bool user_agent_prefilter_may_match(const struct user_agent_prefilter *filter,
                                    const struct user_agent_prefilter_text *text)
{
	if (!filter || (filter->is_caseless && !text->is_ascii))
		return true;
	for (size_t i = 0; i < filter->count; i++) {
		if (has_literal(text, &filter->literals[i]))
			return true;
	}
	return false;
}
