#include "tests/unit/http/framing_case.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/strbuf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const bodied_methods[] = { "POST", "PUT", "DELETE", "OPTIONS", "BREW" };
static const char *const bodiless_methods[] = { "GET", "HEAD" };
static const char *const any_methods[] = {
	"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "BREW"
};

static const char *const spaces[] = { " ", "", "\t", " \t " };

/* Other headers of a request. */
static const char *const fillers[] = {
	"",
	"X-Filler: y\r\n",
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\nAccept: */*\r\n",
	"Accept-Language: en;q=0.8, de\r\nContent-Type: text/plain\r\nX-Empty:\r\n",
};

/* The requests that an attacker smuggles behind the first request. */
static const char *const hidden[] = {
	"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n",
	"POST /hidden HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
	"\r\nGET /hidden HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
};

enum spelling { AS_WRITTEN, LOWER_CASE, UPPER_CASE, MIXED_CASE, SPELLINGS };

/* The order of the lines: Host, the rule's head and tail, and the filler. */
static const char *const orders[] = { "Hhtf", "htHf", "hHft", "fHht", "hftH", "Hfht" };

struct choice {
	const char *method, *version, *space, *filler, *hidden, *order;
	enum spelling spelling;
};

/* Extracts one of count choices from the variant's number. */
static size_t take_digit(size_t *number, size_t count)
{
	size_t taken = *number % count;
	*number /= count;
	return taken;
}

static struct choice choose(const struct framing_rule *rule, size_t variant)
{
	struct choice choice = { .version = "1.1", .order = "Hhtf" };
	/*
	 * An odd factor makes this a bijection; a factor near the golden ratio separates
	 * neighbours.
	 */
	size_t number = (variant * 40503U) & 0xffffU;
	switch (rule->methods) {
	case FRAMING_ANY_METHOD:
		choice.method = any_methods[take_digit(&number, COUNT(any_methods))];
		break;
	case FRAMING_BODILESS:
		choice.method = bodiless_methods[take_digit(&number, COUNT(bodiless_methods))];
		break;
	case FRAMING_BODIED:
		choice.method = bodied_methods[take_digit(&number, COUNT(bodied_methods))];
		break;
	}
	if (rule->versions == FRAMING_1_0 ||
	    (rule->versions == FRAMING_ANY_VERSION && take_digit(&number, 2) == 1))
		choice.version = "1.0";
	choice.spelling =
		rule->keeps_spelling ? AS_WRITTEN : (enum spelling)take_digit(&number, SPELLINGS);
	choice.space = spaces[take_digit(&number, COUNT(spaces))];
	choice.filler = fillers[take_digit(&number, COUNT(fillers))];
	choice.hidden = hidden[take_digit(&number, COUNT(hidden))];
	if (rule->place == FRAMING_ANYWHERE)
		choice.order = orders[take_digit(&number, COUNT(orders))];
	else
		choice.order = rule->place == FRAMING_FIRST ? "hHtf" : "Hfth";
	return choice;
}

static char spell(enum spelling spelling, char c, size_t at)
{
	if (spelling == LOWER_CASE || (spelling == MIXED_CASE && at % 2 == 0))
		return (char)tolower((unsigned char)c);
	if (spelling == UPPER_CASE || spelling == MIXED_CASE)
		return (char)toupper((unsigned char)c);
	return c;
}

/* Adds header lines with their names in the chosen spelling. */
static void add_lines(struct strbuf *out, const char *lines, size_t len, enum spelling spelling)
{
	bool in_name = true;
	for (size_t i = 0; i < len; i++) {
		in_name = in_name && lines[i] != ':';
		if (in_name)
			strbuf_add_char(out, spell(spelling, lines[i], i));
		else
			strbuf_add_char(out, lines[i]);
		in_name = in_name || lines[i] == '\n';
	}
}

static void add_pattern(struct strbuf *out, const struct framing_bytes *pattern,
                        const struct choice *choice, size_t n)
{
	for (size_t i = 0; i < pattern->len; i++) {
		char c = pattern->at[i];
		if (c != '$') {
			strbuf_add_char(out, c);
			continue;
		}
		switch (pattern->at[++i]) {
		case 'm':
			strbuf_add_text(out, choice->method);
			break;
		case 'v':
			strbuf_add_text(out, choice->version);
			break;
		case 's':
			strbuf_add_text(out, choice->space);
			break;
		default:
			strbuf_add_format(out, "%zu", n);
		}
	}
}

static void add_spelled(struct strbuf *out, const struct framing_bytes *pattern,
                        const struct choice *choice, size_t n)
{
	struct strbuf lines;
	strbuf_init(&lines, FRAMING_CASE_BYTES_MAX);
	add_pattern(&lines, pattern, choice, n);
	add_lines(out, lines.data, lines.len, choice->spelling);
	strbuf_clear(&lines);
}

static void add_line(struct strbuf *out, const struct framing_rule *rule,
                     const struct choice *choice)
{
	static const struct framing_bytes usual = { "$m /first HTTP/$v\r\n", 19 };
	if (rule->target_len == 0) {
		add_pattern(out, rule->line.at ? &rule->line : &usual, choice, 0);
		return;
	}
	strbuf_add_format(out, "%s /", choice->method);
	for (size_t i = 1; i < rule->target_len; i++)
		strbuf_add_char(out, 'a');
	strbuf_add_format(out, " HTTP/%s\r\n", choice->version);
}

static void add_headers(struct strbuf *out, const struct framing_rule *rule,
                        const struct choice *choice, size_t n)
{
	for (const char *what = choice->order; *what != '\0'; what++) {
		if (*what == 'H' && !rule->has_no_host)
			add_lines(out, "Host: a\r\n", 9, choice->spelling);
		if (*what == 'f')
			strbuf_add_text(out, choice->filler);
		if (*what == 't')
			add_spelled(out, &rule->tail, choice, n);
		for (size_t i = 0;
		     *what == 'h' && i < (rule->head_times > 0 ? rule->head_times : 1); i++)
			add_spelled(out, &rule->head, choice, n);
	}
	/* without keep-alive the server reads nothing after an HTTP/1.0 request */
	if (choice->version[2] == '0' && rule->place != FRAMING_LAST)
		strbuf_add_text(out, "Connection: keep-alive\r\n");
}

void framing_case_make(struct framing_case *c, const struct framing_rule *rule, size_t variant,
                       size_t first_piece)
{
	struct choice choice = choose(rule, variant);
	const char *behind = rule->status == 200 ? "" : choice.hidden;
	*c = (struct framing_case){ .rule = rule,
		                    .method = choice.method,
		                    .first_piece = first_piece };
	strbuf_init(&c->bytes, FRAMING_CASE_BYTES_MAX);
	add_line(&c->bytes, rule, &choice);
	add_headers(&c->bytes, rule, &choice, rule->body.len + strlen(behind));
	strbuf_add(&c->bytes, rule->end.at ? rule->end.at : "\r\n",
	           rule->end.at ? rule->end.len : 2);
	strbuf_add(&c->bytes, rule->body.at ? rule->body.at : "", rule->body.len);
	strbuf_add_text(&c->bytes, behind);
}

void framing_case_clear(struct framing_case *c)
{
	strbuf_clear(&c->bytes);
}

size_t framing_case_next_cut(const struct framing_case *c, size_t at)
{
	const unsigned char *bytes = (const unsigned char *)c->bytes.data;
	for (size_t i = at + 1; i < c->bytes.len; i++)
		if (!isalnum(bytes[i]) || !isalnum(bytes[i - 1]))
			return i;
	return 0;
}

uint64_t framing_case_hash(const struct framing_case *c)
{
	uint64_t hash = UINT64_C(14695981039346656037) ^ c->first_piece;
	for (size_t i = 0; i < c->bytes.len; i++)
		hash = (hash ^ (unsigned char)c->bytes.data[i]) * UINT64_C(1099511628211);
	return hash;
}
