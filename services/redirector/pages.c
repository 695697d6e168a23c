#include "services/redirector/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_accept.h"
#include "lib/http/http_problem.h"
#include "lib/links/link.h"

#define STYLE                                                                                                                                                \
	":root{color-scheme:light dark;--paper:#f4f2ee;--card:#fffefb;--edge:#e2ddd4;--ink:#1d2330;--soft:#555d6d;--mark:#a93f28;--glow:#f7e4dd}"            \
	"@media(prefers-color-scheme:dark){:root{--paper:#12151b;--card:#1b1f28;--edge:#2d3340;--ink:#f0f2f6;--soft:#aeb6c4;--mark:#f49a7e;--glow:#3a2622}}" \
	"*{box-sizing:border-box}"                                                                                                                           \
	"body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--paper);color:var(--ink);"                           \
	"font:1.0625rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"                                                                           \
	"main{width:100%;max-width:34rem;padding:clamp(1.5rem,6vw,3rem);background:var(--card);border:1px solid var(--edge);"                                \
	"border-radius:1.25rem;overflow-wrap:break-word}"                                                                                                    \
	"svg{display:block;width:4.5rem;height:4.5rem;padding:.9rem;border-radius:50%;background:var(--glow);color:var(--mark)}"                             \
	".status{margin:1.5rem 0 0;color:var(--mark);font-size:.9375rem;font-weight:600;letter-spacing:.06em}"                                               \
	"h1{margin:.25rem 0 .75rem;font-size:clamp(1.5rem,5vw,2rem);line-height:1.2;letter-spacing:-.01em;text-wrap:balance}"                                \
	"p{margin:0;color:var(--soft);text-wrap:pretty}p+p{margin-top:.75rem}"                                                                               \
	"a{color:var(--mark)}footer{margin-top:2rem;color:var(--soft);font-size:.9375rem}"

/* The hash of STYLE for the policy. test_pages.c fails when STYLE changes. */
#define STYLE_HASH "sha256-yf6WPRWRqMSm62uMy32W0OGFmhirmkIe5FIA5kfcl5Y="

/* A signpost. Decorative: screen readers skip it. */
#define SIGNPOST                                                                                       \
	"<svg viewBox=\"0 0 48 48\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.5\" "       \
	"stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\" focusable=\"false\">" \
	"<path d=\"M24 4v40M16 44h16M24 9h13l5 5-5 5H24zM24 22H11l-5 5 5 5h13z\"/></svg>"

static const char favicon[] =
	"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 48 48\" fill=\"none\" "
	"stroke=\"#fff\" stroke-width=\"3\" stroke-linecap=\"round\" stroke-linejoin=\"round\">"
	"<rect width=\"48\" height=\"48\" rx=\"10\" fill=\"#a93f28\" stroke=\"none\"/>"
	"<path d=\"M24 8v32M18 40h12M24 12h11l4 4-4 4H24zM24 23H13l-4 4 4 4h11z\"/></svg>";

#define CONTENT_SECURITY_POLICY                                                                    \
	"default-src 'none'; style-src '" STYLE_HASH                                               \
	"'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
#define PAGE_BYTES_MAX 16384

static const unsigned statuses[] = {
	404, 410, 451, 429, 503, 405, 400, 408, 411, 413, 414, 431, 500
};
#define STATUSES ARRAY_SIZE(statuses)
#define START STATUSES /* the page after those of the statuses */

struct page {
	char *html;
	size_t len;
};

struct pages {
	struct pages_config config;
	/* STATUSES + 1 for each language. */
	struct page *rendered;
};

static void add_escaped_char(struct strbuf *b, char c)
{
	const char *entity = c == '&'   ? "&amp;"
	                     : c == '<' ? "&lt;"
	                     : c == '>' ? "&gt;"
	                     : c == '"' ? "&quot;"
	                                : NULL;
	if (entity)
		strbuf_add_text(b, entity);
	else
		strbuf_add_char(b, c);
}

static void add_escaped(struct strbuf *b, const char *text)
{
	for (; *text; text++)
		add_escaped_char(b, *text);
}

/* Adds a text of the catalogue: escaped, {host} and {operator} replaced. */
static void add_text(struct strbuf *b, const struct pages *pages, size_t language, const char *key)
{
	const char *text = page_texts_get(pages->config.texts, language, key);
	while (text && *text) {
		if (strncmp(text, "{host}", 6) == 0) {
			add_escaped(b,
			            strstr(pages->config.public_base_url, "://") + strlen("://"));
			text += 6;
		} else if (strncmp(text, "{operator}", 10) == 0) {
			add_escaped(b, pages->config.operator_name);
			text += 10;
		} else {
			add_escaped_char(b, *text++);
		}
	}
}

static void add_status_text(struct strbuf *b, const struct pages *pages, size_t language,
                            size_t page, const char *part)
{
	char key[16];
	if (page == START)
		snprintf(key, sizeof(key), "start.%s", part);
	else
		snprintf(key, sizeof(key), "%u.%s", statuses[page], part);
	add_text(b, pages, language, key);
}

static void add_footer(struct strbuf *b, const struct pages *pages, size_t language)
{
	const char *contact = pages->config.operator_contact;
	bool has_name = pages->config.operator_name[0] != '\0';
	if (!has_name && contact[0] == '\0')
		return;
	strbuf_add_text(b, "<footer>");
	if (has_name)
		add_text(b, pages, language, "operator");
	if (contact[0] != '\0') {
		strbuf_add_text(b, has_name ? " <a href=\"" : "<a href=\"");
		strbuf_add_text(b, strstr(contact, "://") ? "" : "mailto:");
		add_escaped(b, contact);
		strbuf_add_text(b, "\">");
		add_text(b, pages, language, "contact");
		strbuf_add_text(b, "</a>");
	}
	strbuf_add_text(b, "</footer>\n");
}

static void add_dashboard(struct strbuf *b, const struct pages *pages, size_t language)
{
	if (pages->config.dashboard_url[0] == '\0')
		return;
	strbuf_add_text(b, "<p><a href=\"");
	add_escaped(b, pages->config.dashboard_url);
	strbuf_add_text(b, "\">");
	add_text(b, pages, language, "start.dashboard");
	strbuf_add_text(b, "</a></p>\n");
}

static struct page render(const struct pages *pages, size_t language, size_t page)
{
	struct strbuf b;
	strbuf_init(&b, PAGE_BYTES_MAX);
	strbuf_add_format(&b, "<!doctype html>\n<html lang=\"%s\">\n<head>\n",
	                  page_texts_language(pages->config.texts, language));
	strbuf_add_text(
		&b, "<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"robots\" content=\"noindex, nofollow\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<link rel=\"icon\" href=\"/favicon.ico\" type=\"image/svg+xml\">\n<title>");
	add_status_text(&b, pages, language, page, "title");
	strbuf_add_text(&b, "</title>\n<style>" STYLE "</style>\n</head>\n<body>\n<main>\n" SIGNPOST
	                    "\n");
	if (page != START) {
		strbuf_add_text(&b, "<p class=\"status\">");
		add_text(&b, pages, language, "error");
		strbuf_add_format(&b, " %u</p>\n", statuses[page]);
	}
	strbuf_add_text(&b, "<h1>");
	add_status_text(&b, pages, language, page, "title");
	strbuf_add_text(&b, "</h1>\n<p>");
	add_status_text(&b, pages, language, page, "text");
	strbuf_add_text(&b, "</p>\n");
	if (page == START)
		add_dashboard(&b, pages, language);
	add_footer(&b, pages, language);
	strbuf_add_text(&b, "</main>\n</body>\n</html>\n");
	struct page rendered;
	rendered.html = strbuf_take(&b, &rendered.len);
	strbuf_clear(&b);
	return rendered;
}

struct pages *pages_new(const struct pages_config *config)
{
	struct pages *pages = mem_zero(sizeof(*pages));
	pages->config = *config;
	size_t languages = page_texts_languages(config->texts);
	pages->rendered = mem_array(languages * (STATUSES + 1), sizeof(*pages->rendered));
	for (size_t language = 0; language < languages; language++)
		for (size_t page = 0; page <= START; page++)
			pages->rendered[language * (STATUSES + 1) + page] =
				render(pages, language, page);
	return pages;
}

void pages_free(struct pages *pages)
{
	if (!pages)
		return;
	size_t count = page_texts_languages(pages->config.texts) * (STATUSES + 1);
	for (size_t i = 0; i < count; i++)
		free(pages->rendered[i].html);
	free(pages->rendered);
	free(pages);
}

bool pages_prefers_html(const char *accept)
{
	int html = 0, json = 0;
	struct http_accept_item type;
	while (accept && http_accept_next(&accept, &type)) {
		int weight = type.weight < 0 ? HTTP_ACCEPT_WEIGHT_MAX : type.weight;
		if (http_accept_is(&type, "text/html") && weight > html)
			html = weight;
		if (http_accept_is(&type, "application/problem+json") ||
		    http_accept_is(&type, "application/json"))
			json = weight > json ? weight : json;
	}
	return html > 0 && html >= json;
}

/* False: the client wants no HTML, or there is no such page. */
static bool send_page(const struct pages *pages, struct http_exchange *x, size_t page)
{
	http_exchange_add_fixed_header(x, "Vary", "Accept, Accept-Language");
	http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	if (page > START || !pages_prefers_html(http_exchange_joined_header(x, "Accept")))
		return false;
	const char *wanted = http_exchange_joined_header(x, "Accept-Language");
	size_t language = page_texts_choose(pages->config.texts, wanted);
	const struct page *rendered = &pages->rendered[language * (STATUSES + 1) + page];
	enum err err = http_exchange_add_header(x, "Content-Language",
	                                        page_texts_language(pages->config.texts, language));
	(void)err; /* a language has no control bytes */
	http_exchange_add_fixed_header(x, "Content-Security-Policy", CONTENT_SECURITY_POLICY);
	http_exchange_set_fixed_body(x, "text/html; charset=utf-8", rendered->html, rendered->len);
	return true;
}

enum http_progress pages_respond_error(const struct pages *pages, struct http_exchange *x,
                                       unsigned status, const char *detail)
{
	size_t page = 0;
	while (page < STATUSES && statuses[page] != status)
		page++;
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
	if (!send_page(pages, x, page < STATUSES ? page : START + 1))
		return http_problem_respond(x, status, NULL, detail, NULL);
	http_exchange_set_status(x, status);
	return HTTP_COMPLETE;
}

enum http_progress pages_respond_start(const struct pages *pages, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Cache-Control", "no-cache");
	if (send_page(pages, x, START))
		return HTTP_COMPLETE;
	char text[LINK_URL_SIZE + 128];
	snprintf(text, sizeof(text),
	         "This is Waymark, a URL shortener. Short links begin with %s/.\n",
	         pages->config.public_base_url);
	http_exchange_set_body(x, "text/plain; charset=utf-8", text, strlen(text));
	return HTTP_COMPLETE;
}

enum http_progress pages_respond_favicon(struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Cache-Control", "public, max-age=86400");
	http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	http_exchange_set_fixed_body(x, "image/svg+xml", favicon, sizeof(favicon) - 1);
	return HTTP_COMPLETE;
}
