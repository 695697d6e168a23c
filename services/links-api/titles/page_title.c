#include "services/links-api/titles/page_title.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <unicode/ucnv.h>
#include <unicode/utf8.h>

#include "lib/base/array.h"
#include "lib/base/utf8.h"

#define SPACE " \t\n\f\r"
#define CHARSET_SIZE 32
/* Of a title in the page. What is beyond does not fit a link anyway. */
#define RAW_MAX 4096
/* No encoding needs more bytes in UTF-8 than three for each of its own. */
#define TEXT_SIZE (3 * RAW_MAX)

/* text: NULL = none. */
struct part {
	const char *text;
	size_t len;
};

struct page {
	const char *at, *end;
	struct part title, og_title;
	/* "" = the page does not say it. */
	char charset[CHARSET_SIZE];
};

/* --- the page --- */

static bool is_one_of(char c, const char *set)
{
	return c != '\0' && strchr(set, c);
}

static bool is_word(struct part part, const char *word)
{
	return part.len == strlen(word) && strncasecmp(part.text, word, part.len) == 0;
}

/* The first place from at on where word stands, in any case; end: nowhere. */
static const char *find(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);
	while ((size_t)(end - at) >= len) {
		if (strncasecmp(at, word, len) == 0)
			return at;
		at++;
	}
	return end;
}

/* The characters up to the first of set, which at least one character precedes. */
static struct part take_until(struct page *p, const char *set)
{
	struct part part = { p->at, 0 };
	do
		p->at++;
	while (p->at < p->end && !is_one_of(*p->at, set));
	part.len = (size_t)(p->at - part.text);
	return part;
}

static void skip_space(struct page *p)
{
	while (p->at < p->end && is_one_of(*p->at, SPACE))
		p->at++;
}

static struct part take_value(struct page *p)
{
	char quote = '\0';
	p->at++;
	skip_space(p);
	if (p->at < p->end && (*p->at == '"' || *p->at == '\''))
		quote = *p->at++;
	if (p->at == p->end || (!quote && *p->at == '>'))
		return (struct part){ p->at, 0 };
	if (!quote)
		return take_until(p, SPACE ">");
	const char *close = memchr(p->at, quote, (size_t)(p->end - p->at));
	struct part value = { p->at, (size_t)((close ? close : p->end) - p->at) };
	p->at = close ? close + 1 : p->end;
	return value;
}

/* False: the tag has ended, and at stands behind it. */
static bool next_attribute(struct page *p, struct part *name, struct part *value)
{
	while (p->at < p->end && is_one_of(*p->at, SPACE "/"))
		p->at++;
	*value = (struct part){ p->at, 0 };
	if (p->at == p->end)
		return false;
	if (*p->at == '>') {
		p->at++;
		return false;
	}
	*name = take_until(p, SPACE "/>=");
	skip_space(p);
	if (p->at < p->end && *p->at == '=')
		*value = take_value(p);
	return true;
}

/* The first that is said counts. ICU gets nothing that could be a path or an option. */
static void take_charset(struct page *p, const char *name, const char *end)
{
	static const char characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_:";
	size_t len = 0;
	while (name + len < end && is_one_of(name[len], characters))
		len++;
	if (len < CHARSET_SIZE && !p->charset[0])
		snprintf(p->charset, CHARSET_SIZE, "%.*s", (int)len, name);
}

/* Of "text/html; charset=utf-8". */
static void take_charset_of_type(struct page *p, struct part type)
{
	static const char word[] = "charset=";
	const char *end = type.text + type.len;
	const char *at = find(type.text, end, word);
	if (at == end)
		return;
	at += sizeof(word) - 1;
	if (at < end && (*at == '"' || *at == '\''))
		at++;
	take_charset(p, at, end);
}

static void read_meta(struct page *p)
{
	struct part name, value, content = { 0 };
	bool is_og_title = false, is_type = false;
	while (next_attribute(p, &name, &value)) {
		if (is_word(name, "content"))
			content = value;
		else if (is_word(name, "property") || is_word(name, "name"))
			is_og_title = is_og_title || is_word(value, "og:title");
		else if (is_word(name, "http-equiv"))
			is_type = is_word(value, "content-type");
		else if (is_word(name, "charset"))
			take_charset(p, value.text, value.text + value.len);
	}
	if (content.text && is_type)
		take_charset_of_type(p, content);
	if (content.text && is_og_title && !p->og_title.text)
		p->og_title = content;
}

static void skip_attributes(struct page *p)
{
	struct part name, value;
	while (next_attribute(p, &name, &value))
		;
}

/* Behind a tag whose content is no markup, or none of the page's own. */
static struct part take_content(struct page *p, struct part tag)
{
	char closing[16];
	snprintf(closing, sizeof(closing), "</%.*s", (int)tag.len, tag.text);
	skip_attributes(p);
	struct part content = { p->at, 0 };
	p->at = find(p->at, p->end, closing);
	content.len = (size_t)(p->at - content.text);
	return content;
}

/* At "<" and a letter. False: the rest of the page is not read. */
static bool read_tag(struct page *p)
{
	static const char *const skipped[] = { "script", "style", "noscript", "template", "svg" };
	p->at++;
	struct part tag = take_until(p, SPACE "/>");
	if (is_word(tag, "body"))
		return false;
	if (is_word(tag, "meta")) {
		read_meta(p);
		return true;
	}
	if (is_word(tag, "title")) {
		struct part content = take_content(p, tag);
		/* One that is cut off says half. */
		if (!p->title.text && p->at < p->end)
			p->title = content;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(skipped); i++) {
		if (is_word(tag, skipped[i])) {
			take_content(p, tag);
			return true;
		}
	}
	skip_attributes(p);
	return true;
}

static void read_page(struct page *p)
{
	while ((p->at = memchr(p->at, '<', (size_t)(p->end - p->at)))) {
		unsigned char next = p->at + 1 < p->end ? (unsigned char)p->at[1] : '\0';
		if (p->end - p->at >= 4 && memcmp(p->at, "<!--", 4) == 0)
			p->at = find(p->at + 4, p->end, "-->");
		else if (!isalpha(next))
			p->at++;
		else if (!read_tag(p))
			return;
	}
}

/* --- its text --- */

/* As browsers do, Latin-1 is windows-1252. */
static const char *known_name(const char *charset)
{
	static const char *const latin[] = { "iso-8859-1", "iso8859-1", "latin1", "us-ascii",
		                             "ascii" };
	for (size_t i = 0; i < ARRAY_SIZE(latin); i++)
		if (strcasecmp(charset, latin[i]) == 0)
			return "windows-1252";
	return charset;
}

/* Appends NUL. False: we do not know the encoding, or it is not one that has ASCII's letters. */
static bool convert(struct part raw, const char *charset, char out[static TEXT_SIZE])
{
	static const char probe[] = "<title>";
	UErrorCode status = U_ZERO_ERROR;
	const char *from = known_name(charset);
	int32_t len = ucnv_convert("UTF-8", from, out, TEXT_SIZE, probe, sizeof(probe), &status);
	if (U_FAILURE(status) || len != sizeof(probe) || strcmp(out, probe) != 0)
		return false;
	len = (int32_t)(raw.len < RAW_MAX ? raw.len : RAW_MAX);
	ucnv_convert("UTF-8", from, out, TEXT_SIZE, raw.text, len, &status);
	return U_SUCCESS(status) && status != U_STRING_NOT_TERMINATED_WARNING;
}

/* The names of U+00A0 to U+00FF, and of others that stand in titles. */
static uint32_t entity_of(const char *name)
{
	static const char latin[] =
		"nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr "
		"deg plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 "
		"frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute "
		"Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml "
		"times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc "
		"atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml "
		"eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc "
		"uuml yacute thorn yuml ";
	static const struct {
		const char *name;
		uint32_t code;
	} others[] = {
		{ "amp", '&' },       { "lt", '<' },        { "gt", '>' },
		{ "quot", '"' },      { "apos", '\'' },     { "ndash", 0x2013 },
		{ "mdash", 0x2014 },  { "lsquo", 0x2018 },  { "rsquo", 0x2019 },
		{ "sbquo", 0x201a },  { "ldquo", 0x201c },  { "rdquo", 0x201d },
		{ "bdquo", 0x201e },  { "bull", 0x2022 },   { "hellip", 0x2026 },
		{ "lsaquo", 0x2039 }, { "rsaquo", 0x203a }, { "euro", 0x20ac },
		{ "trade", 0x2122 },  { "rarr", 0x2192 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strcmp(name, others[i].name) == 0)
			return others[i].code;
	uint32_t code = 0xa0;
	size_t len = strlen(name);
	for (const char *at = latin; *at; at = strchr(at, ' ') + 1, code++)
		if (strncmp(at, name, len) == 0 && at[len] == ' ')
			return code;
	return 0;
}

/* What stands at "&" and how long it is, in *len; 0: no entity that we know. */
static uint32_t read_entity(const char *at, size_t *len)
{
	char name[10];
	size_t name_len = strcspn(at + 1, ";&");
	if (name_len == 0 || name_len >= sizeof(name) || at[1 + name_len] != ';')
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)name_len, at + 1);
	*len = name_len + 2;
	if (name[0] != '#')
		return entity_of(name);
	bool is_hex = name[1] == 'x' || name[1] == 'X';
	const char *digits = name + (is_hex ? 2 : 1);
	size_t count = strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789");
	if (count == 0 || digits[count])
		return 0;
	unsigned long code = strtoul(digits, NULL, is_hex ? 16 : 10);
	bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
	return code > 0x10ffff || is_surrogate ? 0 : (uint32_t)code;
}

/* In place: an entity is longer than its character. */
static void decode_entities(char *text)
{
	char *out = text;
	while (*text) {
		size_t len = 0, written = 0;
		uint32_t code = *text == '&' ? read_entity(text, &len) : 0;
		if (code == 0) {
			*out++ = *text++;
			continue;
		}
		U8_APPEND_UNSAFE(out, written, code);
		out += written;
		text += len;
	}
	*out = '\0';
}

static bool is_one_of_chars(const char *at, size_t len, const char *const *set, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(set[i]) == len && memcmp(at, set[i], len) == 0)
			return true;
	return false;
}

/* U+00A0, U+2028, U+2029. */
static bool is_space(const char *at, size_t len)
{
	static const char *const spaces[] = { "\xc2\xa0", "\xe2\x80\xa8", "\xe2\x80\xa9" };
	return (len == 1 && is_one_of(*at, SPACE "\v")) ||
	       is_one_of_chars(at, len, spaces, ARRAY_SIZE(spaces));
}

/* Invisible: they hide what a title says, or turn what follows it. */
static bool is_dropped(const char *at, size_t len)
{
	static const char *const dropped[] = {
		"\xe2\x80\x8b", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab",
		"\xe2\x80\xac", "\xe2\x80\xad", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa7",
		"\xe2\x81\xa8", "\xe2\x81\xa9", "\xef\xbb\xbf",
	};
	return utf8_is_control(at) || is_one_of_chars(at, len, dropped, ARRAY_SIZE(dropped));
}

/* text: valid UTF-8. */
static size_t clean(const char *text, char out[static LINK_TITLE_SIZE])
{
	size_t at = 0, chars = 0;
	bool is_parted = false;
	const char *end = text + strlen(text);
	for (size_t len; (len = utf8_next(text, (size_t)(end - text))) > 0; text += len) {
		if (is_space(text, len)) {
			is_parted = chars > 0;
		} else if (!is_dropped(text, len)) {
			if (chars + is_parted >= LINK_TITLE_CHARS_MAX)
				break;
			if (is_parted)
				out[at++] = ' ';
			memcpy(out + at, text, len);
			at += len;
			chars += 1 + is_parted;
			is_parted = false;
		}
	}
	out[at] = '\0';
	return chars;
}

/* False: it is empty, or has bytes that are not of its encoding. */
static bool read_text(const struct page *p, struct part raw, char out[static LINK_TITLE_SIZE])
{
	char text[TEXT_SIZE];
	const char *charset = p->charset;
	if (!raw.text)
		return false;
	if (!charset[0])
		charset = utf8_is_valid(raw.text, raw.len) ? "utf-8" : "windows-1252";
	if (!convert(raw, charset, text))
		return false;
	decode_entities(text);
	return clean(text, out) > 0 && !strstr(out, "\xef\xbf\xbd");
}

enum err page_title_read(const char *type, const char *html, size_t len,
                         char out[static LINK_TITLE_SIZE])
{
	struct page p = { .at = html, .end = html + len };
	struct part media = { type, strcspn(type, "; ") };
	char title[LINK_TITLE_SIZE];
	if (!is_word(media, "text/html") && !is_word(media, "application/xhtml+xml"))
		return ERR_NOT_FOUND;
	if (len >= 3 && memcmp(html, "\xef\xbb\xbf", 3) == 0)
		snprintf(p.charset, sizeof(p.charset), "utf-8");
	else
		take_charset_of_type(&p, (struct part){ type, strlen(type) });
	read_page(&p);
	if (!read_text(&p, p.title, title) && !read_text(&p, p.og_title, title))
		return ERR_NOT_FOUND;
	memcpy(out, title, sizeof(title));
	return OK;
}
