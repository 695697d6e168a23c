#include "services/janitor/mail/mail_render.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/timestamp.h"
#include "lib/base/utf8.h"
#include "services/janitor/mail/mail_texts.h"

#define SUBJECT_BYTES_MAX 2000
#define FORM_BYTES_MAX ((size_t)256 * 1024)
#define VALUE_CHARS_MAX 200
#define NAME_SIZE 32

/* The colours of the dashboard. Programs that know no style sheets show the light ones. */
#define STYLE                                                                                                                                                     \
	"body{margin:0;background:#f6f7f6;color:#17211d;"                                                                                                         \
	"font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}"                                                                   \
	".card{max-width:560px;margin:0 auto;background:#fff;border:1px solid #dfe4e1;border-radius:12px}"                                                        \
	".in{padding:32px 32px 16px}h1{margin:0 0 16px;font-size:22px;line-height:1.3}"                                                                           \
	"p{margin:0 0 16px}.brand{color:#0b6e5f;font-weight:600;margin:0 0 24px}"                                                                                 \
	".button{display:inline-block;background:#0b6e5f;color:#fff;text-decoration:none;"                                                                        \
	"font-weight:600;padding:12px 20px;border-radius:8px}"                                                                                                    \
	".small,.foot{color:#56635d;font-size:13px}.small a,.foot a{color:#0b6e5f;word-break:break-all}"                                                          \
	".foot{max-width:560px;box-sizing:border-box;margin:16px auto 0;padding:0 32px}"                                                                          \
	"h2{margin:8px 0 4px;font-size:16px}.list{width:100%;border-collapse:collapse;margin:0 0 24px}"                                                           \
	".list td{padding:10px 0;border-top:1px solid #dfe4e1;vertical-align:top;word-break:break-word}"                                                          \
	".list .small{display:inline-block;line-height:1.4}.list .value{text-align:right;white-space:nowrap;padding-left:16px;font-variant-numeric:tabular-nums}" \
	"@media(max-width:480px){.in{padding:24px 24px 8px}.foot{padding:0 24px}}"                                                                                \
	"@media(prefers-color-scheme:dark){body{background:#0f1412;color:#e7edea}"                                                                                \
	".card{background:#171d1a;border-color:#2b3530}.brand,.small a,.foot a{color:#48c7ae}"                                                                    \
	".button{background:#48c7ae;color:#06231d}.small,.foot{color:#9dada5}"                                                                                    \
	".list td{border-color:#2b3530}}"

struct renderer {
	const struct mail_source *source;
	/* Of the texts: another one for an invitation without a workspace. */
	const char *kind;
	enum mail_language language;
	/* What is written. */
	struct strbuf *out;
	bool is_html;
};

void mail_render_init(struct mail_forms *forms)
{
	strbuf_init(&forms->subject, SUBJECT_BYTES_MAX);
	strbuf_init(&forms->text, FORM_BYTES_MAX);
	strbuf_init(&forms->html, FORM_BYTES_MAX);
}

void mail_render_clear(struct mail_forms *forms)
{
	strbuf_clear(&forms->subject);
	strbuf_clear(&forms->text);
	strbuf_clear(&forms->html);
}

/* --- values --- */

/* U+061C, U+200E and F, U+2028 to E, U+2066 to 9: they make a text look like another one. */
static bool changes_direction(const char *c)
{
	return memcmp(c, "\xd8\x9c", 2) == 0 || memcmp(c, "\xe2\x80\x8e", 3) == 0 ||
	       memcmp(c, "\xe2\x80\x8f", 3) == 0 ||
	       (memcmp(c, "\xe2\x80", 2) == 0 && (unsigned char)c[2] >= 0xa8 &&
	        (unsigned char)c[2] <= 0xae) ||
	       (memcmp(c, "\xe2\x81", 2) == 0 && (unsigned char)c[2] >= 0xa6 &&
	        (unsigned char)c[2] <= 0xa9);
}

static void add_char(struct renderer *r, const char *c, size_t len)
{
	const char *entity = !r->is_html ? NULL
	                     : *c == '&' ? "&amp;"
	                     : *c == '<' ? "&lt;"
	                     : *c == '>' ? "&gt;"
	                     : *c == '"' ? "&quot;"
	                                 : NULL;
	if (entity)
		strbuf_add_text(r->out, entity);
	else
		strbuf_add(r->out, c, len);
}

static void add_text(struct renderer *r, const char *text, size_t chars_max)
{
	size_t left = strlen(text);
	for (size_t len; left > 0; text += len, left -= len) {
		len = utf8_next(text, left);
		if (len == 0)
			return;
		if (chars_max-- == 0) {
			strbuf_add_text(r->out, "…");
			return;
		}
		if (utf8_is_control(text) || (len > 1 && changes_direction(text)))
			strbuf_add_char(r->out, ' ');
		else
			add_char(r, text, len);
	}
}

/* Whether there is anything to show. */
static bool has_value(const struct json *value)
{
	return value && (json_type(value) == JSON_INT ||
	                 (json_type(value) == JSON_TEXT && json_text(value, NULL)[0] != '\0'));
}

static const char *text_of(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);
	return value && json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
}

static void add_value(struct renderer *r, const char *name, const struct json *value)
{
	int64_t time_us;
	const char *dot = strrchr(name, '_');
	if (json_type(value) == JSON_INT)
		mail_texts_add_number(r->language, json_int(value), r->out);
	else if (dot && strcmp(dot, "_at") == 0 &&
	         timestamp_parse(json_text(value, NULL), &time_us) == OK)
		mail_texts_add_time(r->language, time_us, r->out);
	else if (strcmp(name, "month") == 0)
		mail_texts_add_month(r->language, json_text(value, NULL), r->out);
	else
		add_text(r, json_text(value, NULL), VALUE_CHARS_MAX);
}

static void add_url(struct renderer *r, const char *url)
{
	if (r->is_html) {
		strbuf_add_text(r->out, "<a href=\"");
		add_text(r, url, SIZE_MAX);
		strbuf_add_text(r->out, "\">");
	}
	add_text(r, url, SIZE_MAX);
	strbuf_add_text(r->out, r->is_html ? "</a>" : "");
}

/* Writes what the name stands for; false: it has no value. */
static bool add_named(struct renderer *r, const char *name, bool is_written)
{
	const struct mail_source *source = r->source;
	if (strcmp(name, "sender") == 0) {
		if (is_written)
			add_text(r, source->sender, VALUE_CHARS_MAX);
		return true;
	}
	if (strcmp(name, "settings") == 0) {
		if (is_written)
			add_url(r, source->settings);
		return source->settings[0] != '\0';
	}
	const struct json *value = json_get(source->data, name);
	if (is_written && has_value(value))
		add_value(r, name, value);
	return has_value(value);
}

/* A line of a text; false: one of its names has no value. */
static bool add_filled(struct renderer *r, const char *text, size_t len, bool is_written)
{
	bool is_complete = true;
	for (size_t i = 0; i < len; i++) {
		const char *end = text[i] == '{' ? memchr(text + i, '}', len - i) : NULL;
		char name[NAME_SIZE];
		if (!end) {
			if (is_written)
				add_char(r, text + i, 1);
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(end - text - (ptrdiff_t)i) - 1,
		         text + i + 1);
		is_complete &= add_named(r, name, is_written);
		i = (size_t)(end - text);
	}
	return is_complete;
}

/* Each line of a text of the catalogue between before and after. Lines without a value are left out. */
static void add_lines(struct renderer *r, const char *part, const char *before, const char *after)
{
	const char *text = mail_texts_get(r->language, r->kind, part);
	while (text && *text) {
		size_t len = strcspn(text, "\n");
		if (add_filled(r, text, len, false)) {
			strbuf_add_text(r->out, before);
			add_filled(r, text, len, true);
			strbuf_add_text(r->out, after);
		}
		text += len + (text[len] == '\n');
	}
}

/* --- the list --- */

static void add_row_value(struct renderer *r, const struct json *row)
{
	const struct json *value = json_get(row, "value");
	if (has_value(value))
		add_value(r, "value", value);
	else
		add_text(r, mail_texts_get(r->language, "", "no-answer"), SIZE_MAX);
}

static void add_row(struct renderer *r, const struct json *row)
{
	const char *detail = text_of(row, "detail");
	strbuf_add_text(r->out, r->is_html ? "<tr><td>" : "- ");
	add_text(r, text_of(row, "name"), VALUE_CHARS_MAX);
	if (r->is_html && *detail) {
		strbuf_add_text(r->out, "<br><span class=\"small\">");
		add_text(r, detail, VALUE_CHARS_MAX);
		strbuf_add_text(r->out, "</span>");
	}
	strbuf_add_text(r->out, r->is_html ? "</td><td class=\"value\">" : ": ");
	add_row_value(r, row);
	if (!r->is_html && *detail) {
		strbuf_add_text(r->out, "\n  ");
		add_text(r, detail, VALUE_CHARS_MAX);
	}
	strbuf_add_text(r->out, r->is_html ? "</td></tr>\n" : "\n");
}

static void add_list(struct renderer *r)
{
	const struct json *links = json_get(r->source->data, "links");
	if (!links || json_type(links) != JSON_ARRAY || json_count(links) == 0)
		return;
	add_lines(r, "list", r->is_html ? "<h2>" : "", r->is_html ? "</h2>\n" : ":\n");
	strbuf_add_text(r->out, r->is_html ? "<table class=\"list\" role=\"presentation\">\n" : "");
	for (size_t i = 0; i < json_count(links); i++)
		add_row(r, json_at(links, i));
	const char *more = mail_texts_get(r->language, "", "more");
	if (add_filled(r, more, strlen(more), false)) {
		strbuf_add_text(r->out, r->is_html ? "<tr><td class=\"small\" colspan=\"2\">" : "");
		add_filled(r, more, strlen(more), true);
		strbuf_add_text(r->out, r->is_html ? "</td></tr>\n" : "\n");
	}
	strbuf_add_text(r->out, r->is_html ? "</table>\n" : "\n");
}

/* --- the forms --- */

/* NULL: the mail has none. */
static const char *button_url(const struct renderer *r)
{
	const char *url = text_of(r->source->data, "url");
	bool is_web = strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0;
	return is_web && mail_texts_get(r->language, r->kind, "button") ? url : NULL;
}

static void write_text(struct renderer *r)
{
	const char *url = button_url(r);
	add_lines(r, "subject", "", "\n\n");
	add_lines(r, "text", "", "\n\n");
	add_list(r);
	if (url) {
		add_lines(r, "button", "", ":\n");
		add_url(r, url);
		strbuf_add_text(r->out, "\n\n");
	}
	strbuf_add_text(r->out, "-- \n");
	add_text(r, r->source->sender, VALUE_CHARS_MAX);
	strbuf_add_text(r->out, "\n");
	add_lines(r, "foot", "", "\n");
}

static void write_html(struct renderer *r)
{
	const char *url = button_url(r);
	strbuf_add_format(r->out, "<!doctype html>\n<html lang=\"%s\">\n<head>\n",
	                  mail_texts_code(r->language));
	strbuf_add_text(r->out,
	                "<meta charset=\"utf-8\">\n"
	                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
	                "<meta name=\"color-scheme\" content=\"light dark\">\n"
	                "<style>" STYLE "</style>\n");
	add_lines(r, "subject", "<title>", "</title>\n");
	strbuf_add_text(r->out, "</head>\n<body>\n<div style=\"padding:32px 12px\">\n"
	                        "<div class=\"card\"><div class=\"in\">\n<p class=\"brand\">");
	add_text(r, r->source->sender, VALUE_CHARS_MAX);
	strbuf_add_text(r->out, "</p>\n");
	add_lines(r, "subject", "<h1>", "</h1>\n");
	add_lines(r, "text", "<p>", "</p>\n");
	add_list(r);
	if (url) {
		strbuf_add_text(r->out, "<p><a class=\"button\" href=\"");
		add_text(r, url, SIZE_MAX);
		add_lines(r, "button", "\">", "</a></p>\n");
		strbuf_add_text(r->out, "<p class=\"small\">");
		add_text(r, mail_texts_get(r->language, "", "copy"), SIZE_MAX);
		strbuf_add_text(r->out, "<br>");
		add_url(r, url);
		strbuf_add_text(r->out, "</p>\n");
	}
	strbuf_add_text(r->out, "</div></div>\n");
	add_lines(r, "foot", "<p class=\"foot\">", "</p>\n");
	strbuf_add_text(r->out, "</div>\n</body>\n</html>\n");
}

enum err mail_render(const struct mail_source *source, struct mail_forms *forms)
{
	struct renderer r = { .source = source,
		              .kind = source->kind,
		              .language = mail_texts_language(source->locale) };
	if (strcmp(source->kind, "invitation") == 0 && !*text_of(source->data, "workspace"))
		r.kind = "invitation-instance";
	if (!mail_texts_get(r.language, r.kind, "subject"))
		return ERR_INVALID;
	r.out = &forms->subject;
	add_lines(&r, "subject", "", "");
	r.out = &forms->text;
	write_text(&r);
	r.out = &forms->html;
	r.is_html = true;
	write_html(&r);
	enum err err = strbuf_status(&forms->subject);
	if (err == OK)
		err = strbuf_status(&forms->text);
	return err == OK ? strbuf_status(&forms->html) : err;
}
