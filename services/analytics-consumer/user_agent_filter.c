#include "services/analytics-consumer/user_agent_filter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define WORDS_MAX 256
#define WORD_SIZE 16
#define RUN 3 /* letters */
#define DEPTH_MAX 20

struct word {
	uint8_t count;
	uint16_t runs[WORD_SIZE - RUN];
};

struct user_agent_filter {
	bool is_caseless;
	size_t count;
	struct word words[];
};

static uint16_t run_at(const char *text)
{
	uint32_t run = 0;
	for (size_t i = 0; i < RUN; i++)
		run = run << 8 | (uint32_t)tolower((unsigned char)text[i]);
	return (uint16_t)(run * UINT32_C(0x9e3779b1) >> 20);
}

/* --- what an expression needs --- */

/* Words of which one must be there; none: nothing is known. */
struct need {
	size_t count;
	char words[WORDS_MAX][WORD_SIZE];
};

static size_t shortest(const struct need *need)
{
	size_t shortest = need->count > 0 ? WORD_SIZE : 0;
	for (size_t i = 0; i < need->count; i++) {
		size_t len = strlen(need->words[i]);
		shortest = len < shortest ? len : shortest;
	}
	return shortest;
}

/* Both hold: keeps the one that says more. */
static void keep_better(struct need *best, const struct need *other)
{
	size_t a = shortest(best);
	size_t b = shortest(other);
	if (b > a || (b == a && other->count < best->count))
		*best = *other;
}

/* One of both holds. */
static void unite(struct need *all, const struct need *branch)
{
	if (all->count == 0 || branch->count == 0 || all->count + branch->count > WORDS_MAX) {
		all->count = 0;
	} else {
		memcpy(all->words[all->count], branch->words, branch->count * sizeof(branch->words[0]));
		all->count += branch->count;
	}
}

/* Reads an expression sign by sign. failed: it has something that we do not understand. */
struct reader {
	const char *at;
	bool failed;
	unsigned depth;
};

static bool take(struct reader *r, const char *text)
{
	size_t len = strlen(text);
	if (strncmp(r->at, text, len) != 0)
		return false;
	r->at += len;
	return true;
}

/* A quantifier, if there is one; true: what stands before it need not be there. */
static bool take_quantifier(struct reader *r)
{
	bool is_optional = *r->at == '?' || *r->at == '*' || *r->at == '{';
	if (!is_optional && *r->at != '+')
		return false;
	r->at += *r->at == '{' ? strcspn(r->at, "}") : 0;
	r->failed = r->failed || *r->at == '\0';
	if (r->failed)
		return true;
	r->at++;
	if (*r->at == '?' || *r->at == '+') /* lazy, possessive */
		r->at++;
	return is_optional;
}

static void skip_class(struct reader *r)
{
	r->at++;
	r->at += *r->at == '^';
	r->at += *r->at == ']'; /* as the first one it is a letter */
	while (!r->failed && *r->at != ']') {
		r->failed = *r->at == '\0' || *r->at == '[' || (*r->at == '\\' && r->at[1] == '\0');
		r->at += *r->at == '\\' ? 2 : 1;
	}
	r->at += !r->failed;
}

/* "[Bb]" */
static bool is_letter_in_any_case(const char *at)
{
	return at[0] == '[' && isalpha((unsigned char)at[1]) && at[1] != at[2] &&
	       tolower((unsigned char)at[1]) == tolower((unsigned char)at[2]) && at[3] == ']';
}

/* A letter that stands for itself, or '\0'. */
static char take_letter(struct reader *r)
{
	char c = *r->at;
	if (c == '[') {
		r->at += 4;
		return r->at[-2];
	}
	if (c == '\\') {
		c = r->at[1];
		/* \d and the like are handled before; any other letter or figure has a meaning of its own. */
		if (c == '\0' || isalnum((unsigned char)c)) {
			r->failed = true;
			return '\0';
		}
		r->at++;
	}
	if ((unsigned char)c >= 0x80) {
		r->failed = true;
		return '\0';
	}
	r->at++;
	return c;
}

/* The word that is being read. */
struct run {
	size_t len;
	char text[WORD_SIZE];
};

static void end_run(struct run *run, struct need *branch)
{
	if (run->len >= RUN) {
		struct need word = { .count = 1 };
		memcpy(word.words[0], run->text, run->len);
		keep_better(branch, &word);
	}
	run->len = 0;
}

static void read_letter(struct reader *r, struct run *run, struct need *branch)
{
	char c = take_letter(r);
	bool repeats = *r->at == '+';
	if (r->failed)
		return;
	if (take_quantifier(r)) {
		end_run(run, branch);
		return;
	}
	if (run->len == WORD_SIZE - 1)
		end_run(run, branch);
	run->text[run->len++] = c;
	if (repeats)
		end_run(run, branch);
}

static struct need read_branches(struct reader *r);

static void read_group(struct reader *r, struct need *branch)
{
	r->at++;
	bool looks_around = take(r, "?=") || take(r, "?!") || take(r, "?<=") || take(r, "?<!");
	if (!looks_around && *r->at == '?' && !take(r, "?:"))
		r->failed = true;
	if (++r->depth > DEPTH_MAX)
		r->failed = true;
	if (r->failed)
		return;
	struct need inside = read_branches(r);
	r->depth--;
	r->failed = r->failed || !take(r, ")");
	if (!r->failed && !take_quantifier(r) && !looks_around)
		keep_better(branch, &inside);
}

/* What matches a letter that we do not know, or none: true if it was such a thing. */
static bool skip_unknown(struct reader *r)
{
	if (is_letter_in_any_case(r->at))
		return false;
	if (*r->at == '[')
		skip_class(r);
	else if (*r->at == '.' || *r->at == '^' || *r->at == '$')
		r->at++;
	else if (*r->at == '\\' && r->at[1] != '\0' && strchr("dDwWsSbB", r->at[1]))
		r->at += 2;
	else
		return false;
	if (!r->failed)
		(void)take_quantifier(r);
	return true;
}

static struct need read_branch(struct reader *r)
{
	struct need branch = { 0 };
	struct run run = { 0 };
	while (!r->failed && *r->at != '\0' && *r->at != '|' && *r->at != ')') {
		if (*r->at == '(') {
			end_run(&run, &branch);
			read_group(r, &branch);
		} else if (strchr("*+?{", *r->at)) {
			r->failed = true;
		} else if (skip_unknown(r)) {
			end_run(&run, &branch);
		} else {
			read_letter(r, &run, &branch);
		}
	}
	end_run(&run, &branch);
	return branch;
}

static struct need read_branches(struct reader *r)
{
	struct need all = read_branch(r);
	while (!r->failed && take(r, "|")) {
		struct need branch = read_branch(r);
		unite(&all, &branch);
	}
	return all;
}

/* --- the filter --- */

static struct word word_of(const char *text)
{
	struct word word = { 0 };
	size_t runs = strlen(text) - RUN + 1;
	for (size_t i = 0; i < runs; i++)
		word.runs[i] = run_at(text + i);
	word.count = (uint8_t)runs;
	return word;
}

struct user_agent_filter *user_agent_filter_new(const char *regex, bool is_caseless)
{
	struct reader r = { .at = regex };
	struct need need = read_branches(&r);
	if (r.failed || *r.at != '\0' || need.count == 0)
		return NULL;
	struct user_agent_filter *filter = mem_zero(sizeof(*filter) + need.count * sizeof(filter->words[0]));
	filter->is_caseless = is_caseless;
	filter->count = need.count;
	for (size_t i = 0; i < need.count; i++)
		filter->words[i] = word_of(need.words[i]);
	return filter;
}

void user_agent_filter_free(struct user_agent_filter *filter)
{
	free(filter);
}

void user_agent_filter_read(const char *text, size_t len, struct user_agent_filter_text *out)
{
	*out = (struct user_agent_filter_text){ .is_ascii = true };
	for (size_t i = 0; i < len; i++)
		out->is_ascii = out->is_ascii && (unsigned char)text[i] < 0x80;
	for (size_t i = 0; i + RUN <= len; i++) {
		uint16_t run = run_at(text + i);
		out->bits[run / 64] |= UINT64_C(1) << run % 64;
	}
}

static bool has_word(const struct user_agent_filter_text *text, const struct word *word)
{
	for (size_t i = 0; i < word->count; i++) {
		if (!(text->bits[word->runs[i] / 64] >> word->runs[i] % 64 & 1))
			return false;
	}
	return true;
}

bool user_agent_filter_lets_through(const struct user_agent_filter *filter, const struct user_agent_filter_text *text)
{
	if (!filter || (filter->is_caseless && !text->is_ascii))
		return true;
	for (size_t i = 0; i < filter->count; i++) {
		if (has_word(text, &filter->words[i]))
			return true;
	}
	return false;
}
