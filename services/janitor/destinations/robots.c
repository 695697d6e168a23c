#include "services/janitor/destinations/robots.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct span {
	const char *text;
	size_t len;
};

struct groups {
	const char *agent;
	/* The next User-agent line starts a new group. */
	bool in_rules;
	bool is_ours, is_wildcard;
	/* A group named the agent. */
	bool has_ours;
	int64_t ours_ms, wildcard_ms;
};

static struct span trimmed(const char *begin, const char *end)
{
	while (begin < end && isspace((unsigned char)*begin))
		begin++;
	while (begin < end && isspace((unsigned char)end[-1]))
		end--;
	return (struct span){ begin, (size_t)(end - begin) };
}

static bool is_word(struct span span, const char *word)
{
	return span.len == strlen(word) && strncasecmp(span.text, word, span.len) == 0;
}

/* "10", "0.5"; 0 for anything else. */
static int64_t read_ms(struct span value)
{
	int64_t ms = 0, unit = 1000;
	bool is_fraction = false;
	for (size_t i = 0; i < value.len; i++) {
		char c = value.text[i];
		if (c == '.' && !is_fraction) {
			is_fraction = true;
			continue;
		}
		if (!isdigit((unsigned char)c))
			return 0;
		if (!is_fraction) {
			ms = ms * 10 + (int64_t)(c - '0') * 1000;
			if (ms > ROBOTS_DELAY_MS_MAX)
				ms = ROBOTS_DELAY_MS_MAX;
		} else {
			unit /= 10;
			ms += (c - '0') * unit;
		}
	}
	return ms < ROBOTS_DELAY_MS_MAX ? ms : ROBOTS_DELAY_MS_MAX;
}

static void begin_group(struct groups *groups, struct span agent)
{
	if (groups->in_rules)
		groups->is_ours = groups->is_wildcard = groups->in_rules = false;
	if (is_word(agent, groups->agent))
		groups->is_ours = groups->has_ours = true;
	if (is_word(agent, "*"))
		groups->is_wildcard = true;
}

static void set_delay(struct groups *groups, int64_t ms)
{
	if (groups->is_ours && ms > groups->ours_ms)
		groups->ours_ms = ms;
	if (groups->is_wildcard && ms > groups->wildcard_ms)
		groups->wildcard_ms = ms;
}

static void read_line(struct groups *groups, const char *line, const char *end)
{
	const char *comment = memchr(line, '#', (size_t)(end - line));
	if (comment)
		end = comment;
	const char *colon = memchr(line, ':', (size_t)(end - line));
	if (!colon)
		return;
	struct span key = trimmed(line, colon), value = trimmed(colon + 1, end);
	if (is_word(key, "user-agent")) {
		begin_group(groups, value);
		return;
	}
	if (is_word(key, "sitemap"))
		return; /* belongs to no group and ends none */
	groups->in_rules = true;
	if (is_word(key, "crawl-delay"))
		set_delay(groups, read_ms(value));
}

int64_t robots_delay_ms(const char *text, size_t len, const char *agent)
{
	struct groups groups = { .agent = agent };
	const char *end = text + len;
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (text < end) {
		const char *stop = text;
		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		read_line(&groups, text, stop);
		text = stop < end ? stop + 1 : end;
	}
	return groups.has_ours ? groups.ours_ms : groups.wildcard_ms;
}
