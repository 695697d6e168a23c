#include "services/redirector/pages/page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/http/http_problem.h"

#define STYLE                                                                                                                                                \
	":root{color-scheme:light dark;--paper:#f4f2ee;--card:#fffefb;--edge:#e2ddd4;--ink:#1d2330;--soft:#555d6d;--mark:#a93f28;--glow:#f7e4dd}"            \
	"@media(prefers-color-scheme:dark){:root{--paper:#12151b;--card:#1b1f28;--edge:#2d3340;--ink:#f0f2f6;--soft:#aeb6c4;--mark:#f49a7e;--glow:#3a2622}}" \
	"*{box-sizing:border-box}"                                                                                                                           \
	"body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--paper);color:var(--ink);"                           \
	"font:1.0625rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"                                                                           \
	"main{width:100%;max-width:34rem;padding:clamp(1.5rem,6vw,3rem);background:var(--card);border:1px solid var(--edge);"                                \
	"border-radius:1.25rem;overflow-wrap:anywhere}"                                                                                                      \
	"svg{display:block;width:4.5rem;height:4.5rem;padding:.9rem;border-radius:50%;background:var(--glow);color:var(--mark)}"                             \
	".status{margin:1.5rem 0 0;color:var(--mark);font-size:.9375rem;font-weight:600;letter-spacing:.06em}"                                               \
	"h1{margin:.25rem 0 .75rem;font-size:clamp(1.5rem,5vw,2rem);line-height:1.2;letter-spacing:-.01em;text-wrap:balance}"                                \
	"svg+h1{margin-top:1.5rem}"                                                                                                                          \
	"p{margin:0;color:var(--soft);text-wrap:pretty}p+p{margin-top:.75rem}.wrong{color:var(--mark);font-weight:600}"                                      \
	"a{color:var(--mark)}:focus-visible{outline:3px solid var(--mark);outline-offset:2px}"                                                               \
	"dl{margin:1.5rem 0 0}dt{color:var(--soft);font-size:.9375rem}dd{margin:0 0 .75rem;font-weight:600}"                                                 \
	"label{display:block;margin-top:1.5rem;font-weight:600}"                                                                                             \
	"input{width:100%;margin-top:.5rem;padding:.75rem 1rem;border:1px solid var(--soft);border-radius:.75rem;background:var(--paper);"                   \
	"color:var(--ink);font:inherit}"                                                                                                                     \
	"button,.button{display:inline-block;margin-top:1.5rem;padding:.75rem 1.5rem;border:0;border-radius:.75rem;background:var(--mark);"                  \
	"color:var(--card);font:inherit;font-weight:600;text-decoration:none;cursor:pointer}"                                                                \
	"footer{margin-top:2rem;color:var(--soft);font-size:.9375rem}footer a{margin-right:.75rem}"

/* The hash of STYLE for the policy. test_pages.c fails when STYLE changes. */
#define STYLE_HASH "sha256-pzXK+BPjYlNWXB1n4Mh3tvkU1zzJBr2RjFPCALPvo/s="

/* A signpost. Decorative: screen readers skip it. */
#define SIGNPOST                                                                                       \
	"<svg viewBox=\"0 0 48 48\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.5\" "       \
	"stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\" focusable=\"false\">" \
	"<path d=\"M24 4v40M16 44h16M24 9h13l5 5-5 5H24zM24 22H11l-5 5 5 5h13z\"/></svg>"

#define POLICY(form_action_)                                                                       \
	"default-src 'none'; style-src '" STYLE_HASH                                               \
	"'; img-src 'self'; base-uri 'none'; " form_action_ "frame-ancestors 'none'"

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

void page_add(struct page *page, const char *html)
{
	strbuf_add_text(&page->html, html);
}

void page_add_escaped(struct page *page, const char *text)
{
	for (; *text; text++)
		add_escaped_char(&page->html, *text);
}

void page_add_text(struct page *page, const char *key)
{
	const struct page_site *site = page->site;
	const char *text = page_texts_get(site->texts, page->language, key);
	while (text && *text) {
		if (strncmp(text, "{host}", 6) == 0) {
			page_add_escaped(page,
			                 strstr(site->public_base_url, "://") + strlen("://"));
			text += 6;
		} else if (strncmp(text, "{operator}", 10) == 0) {
			page_add_escaped(page, site->operator_name);
			text += 10;
		} else {
			add_escaped_char(&page->html, *text++);
		}
	}
}

static void add_heading(struct page *page, const char *name, const char *title)
{
	char key[64];
	snprintf(key, sizeof(key), "%s.title", name);
	if (title)
		page_add_escaped(page, title);
	else
		page_add_text(page, key);
}

size_t page_language(const struct page_site *site, struct http_exchange *x)
{
	const char *wanted = http_exchange_joined_header(x, "Accept-Language");
	return page_texts_choose(site->texts, wanted);
}

void page_begin(struct page *page, const struct page_site *site, size_t language)
{
	page->site = site;
	page->language = language;
	strbuf_init(&page->html, PAGE_BYTES_MAX);
	strbuf_add_format(&page->html, "<!doctype html>\n<html lang=\"%s\">\n<head>\n",
	                  page_texts_language(site->texts, language));
	page_add(page, "<meta charset=\"utf-8\">\n"
	               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	               "<meta name=\"robots\" content=\"noindex, nofollow\">\n"
	               "<meta name=\"color-scheme\" content=\"light dark\">\n"
	               "<link rel=\"icon\" href=\"/favicon.ico\" type=\"image/svg+xml\">\n");
}

void page_begin_body(struct page *page, const char *name, const char *title, unsigned status)
{
	page_add(page, "<title>");
	add_heading(page, name, title);
	page_add(page,
	         "</title>\n<style>" STYLE "</style>\n</head>\n<body>\n<main>\n" SIGNPOST "\n");
	if (status != 0) {
		page_add(page, "<p class=\"status\">");
		page_add_text(page, "error");
		strbuf_add_format(&page->html, " %u</p>\n", status);
	}
	page_add(page, "<h1>");
	add_heading(page, name, title);
	page_add(page, "</h1>\n");
}

static void add_contact(struct page *page, const char *contact)
{
	page_add(page, " <a href=\"");
	page_add(page, strstr(contact, "://") ? "" : "mailto:");
	page_add_escaped(page, contact);
	page_add(page, "\">");
	page_add_text(page, "contact");
	page_add(page, "</a>");
}

static void add_report(struct page *page, const char *link)
{
	const char *dashboard = page->site->dashboard_url;
	const char *host = strstr(dashboard, "://");
	size_t origin = host ? (size_t)(host - dashboard) + 3 + strcspn(host + 3, "/?#") : 0;
	char prefix[512];
	if (origin == 0 || origin >= sizeof(prefix))
		return;
	memcpy(prefix, dashboard, origin);
	prefix[origin] = '\0';
	page_add(page, " <a href=\"");
	page_add_escaped(page, prefix);
	page_add(page, "/report");
	page_add(page, link[0] ? "?link=" : "");
	page_add_escaped(page, link);
	page_add(page, "\">");
	page_add_text(page, "report");
	page_add(page, "</a>");
}

void page_end(struct page *page, const char *report_link)
{
	const struct page_site *site = page->site;
	bool has_report = report_link && site->dashboard_url[0] != '\0';
	if (site->operator_name[0] != '\0' || site->operator_contact[0] != '\0' || has_report) {
		page_add(page, "<footer>");
		if (site->operator_name[0] != '\0')
			page_add_text(page, "operator");
		if (site->operator_contact[0] != '\0')
			add_contact(page, site->operator_contact);
		if (has_report)
			add_report(page, report_link);
		page_add(page, "</footer>\n");
	}
	page_add(page, "</main>\n</body>\n</html>\n");
}

void page_add_policy(struct http_exchange *x, const struct page_site *site, size_t language,
                     enum page_policy policy)
{
	const char *name = page_texts_language(site->texts, language);
	enum err err = http_exchange_add_header(x, "Content-Language", name);
	(void)err; /* a language has no control bytes */
	http_exchange_add_fixed_header(x, "Content-Security-Policy",
	                               policy == PAGE_WITH_FORM ? POLICY("")
	                                                        : POLICY("form-action 'none'; "));
}

enum http_progress page_respond(struct page *page, struct http_exchange *x, unsigned status,
                                enum page_policy policy)
{
	bool is_whole = strbuf_status(&page->html) == OK;
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
	http_exchange_add_fixed_header(x, "Vary", "Accept, Accept-Language");
	http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	if (is_whole) {
		http_exchange_set_status(x, status);
		page_add_policy(x, page->site, page->language, policy);
		http_exchange_set_body(x, "text/html; charset=utf-8", page->html.data,
		                       page->html.len);
	}
	strbuf_clear(&page->html);
	return is_whole ? HTTP_COMPLETE : http_problem_respond(x, 500, NULL, NULL, NULL);
}
