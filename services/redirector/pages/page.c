#include "services/redirector/pages/page.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/http/http_problem.h"
#include "lib/links/slug.h"

#define POLICY(form_action_)                                                                       \
	"default-src 'none'; style-src '" HTTP_PAGE_STYLE_HASH                                     \
	"'; img-src 'self'; font-src 'self'; base-uri 'none'; " form_action_                       \
	"frame-ancestors 'none'"

void page_add(struct page *page, const char *html)
{
	strbuf_add_text(&page->html, html);
}

void page_add_escaped(struct page *page, const char *text)
{
	http_page_add_escaped(&page->html, text);
}

/* Of short links, with its port: "sho.rt". */
static const char *host_of(const struct page_site *site)
{
	return strstr(site->public_base_url, "://") + strlen("://");
}

void page_add_text(struct page *page, const char *key)
{
	const struct page_site *site = page->site;
	const char *text = page_texts_get(site->texts, page->language, key);
	while (text && *text) {
		if (strncmp(text, "{host}", 6) == 0) {
			page_add_escaped(page, host_of(site));
			text += 6;
		} else if (strncmp(text, "{operator}", 10) == 0) {
			page_add_escaped(page, site->operator_name);
			text += 10;
		} else {
			http_page_add_escaped(&page->html, (const char[]){ *text++, '\0' });
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
	page->report_at = 0;
	strbuf_init(&page->html, PAGE_BYTES_MAX);
	http_page_begin(&page->html, page_texts_language(site->texts, language));
	strbuf_add_format(&page->html, "<link rel=\"icon\" href=\"%s\">\n",
	                  site->logo ? http_logo_path(site->logo) : "/favicon.ico");
}

void page_begin_body(struct page *page, enum http_page_icon icon, const char *name,
                     const char *title, unsigned status)
{
	const struct page_site *site = page->site;
	struct http_page_brand brand = {
		.name = site->operator_name[0] ? site->operator_name : host_of(site),
		.logo_path = http_logo_path(site->logo),
		.home = "/",
	};
	page_add(page, "<title>");
	add_heading(page, name, title);
	page_add(page, "</title>\n");
	http_page_begin_body(&page->html, &brand, icon);
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

void page_asked_link(const struct page_site *site, const struct http_exchange *x,
                     char out[static PAGE_SHORT_URL_SIZE])
{
	const char *path = http_exchange_path(x);
	struct slug_path asked;
	bool is_link = slug_of_path(path, &asked) || slug_of_longer_path(path, &asked);
	snprintf(out, PAGE_SHORT_URL_SIZE, "%s%s%s", is_link ? site->public_base_url : "",
	         is_link ? "/" : "", is_link ? asked.slug : "");
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
	page->report_at = page->html.len;
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
	http_page_end_main(&page->html);
	if (site->operator_name[0] != '\0' || site->operator_contact[0] != '\0' || has_report) {
		page_add(page, "<footer>");
		if (site->operator_name[0] != '\0') {
			page_add(page, "<span>");
			page_add_text(page, "operator");
			page_add(page, "</span>");
		}
		if (site->operator_contact[0] != '\0')
			add_contact(page, site->operator_contact);
		if (has_report)
			add_report(page, report_link);
		page_add(page, "</footer>\n");
	}
	http_page_end(&page->html);
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
