#include "services/redirector/pages/pages.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_accept.h"
#include "lib/http/http_problem.h"
#include "lib/links/link.h"

static const char favicon[] =
	"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">"
	"<rect width=\"32\" height=\"32\" rx=\"8\" fill=\"#0a7a63\"/>"
	"<path d=\"M7 10.5 12 22l4-9 4 9 5-11.5\" fill=\"none\" stroke=\"#fff\" stroke-width=\"3.2\" "
	"stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>";

/* What a visitor can do. REPORT: it may say something about a link that should be reported. */
enum offer { NOTHING, REPORT, RETRY };

/* Of pages with the same status, the first is that of the status alone. */
static const struct {
	const char *name;
	unsigned status;
	enum http_page_icon icon;
	enum offer offer;
} all[] = {
	{ "404", 404, HTTP_PAGE_BROKEN_LINK, REPORT },
	{ "410", 410, HTTP_PAGE_CLOCK, REPORT },
	{ "used_up", 410, HTTP_PAGE_END, REPORT },
	{ "ended", 410, HTTP_PAGE_END, REPORT },
	{ "451", 451, HTTP_PAGE_BLOCKED, NOTHING },
	{ "blocked", 451, HTTP_PAGE_BLOCKED, NOTHING },
	{ "429", 429, HTTP_PAGE_WAIT, RETRY },
	{ "503", 503, HTTP_PAGE_WARNING, RETRY },
	{ "405", 405, HTTP_PAGE_WARNING, NOTHING },
	{ "400", 400, HTTP_PAGE_WARNING, NOTHING },
	{ "408", 408, HTTP_PAGE_CLOCK, RETRY },
	{ "411", 411, HTTP_PAGE_WARNING, NOTHING },
	{ "413", 413, HTTP_PAGE_WARNING, NOTHING },
	{ "414", 414, HTTP_PAGE_WARNING, NOTHING },
	{ "431", 431, HTTP_PAGE_WARNING, NOTHING },
	{ "500", 500, HTTP_PAGE_WARNING, RETRY },
	{ "start", 0, HTTP_PAGE_LINK, REPORT },
};
#define PAGES ARRAY_SIZE(all)
#define START (PAGES - 1)

struct rendered {
	char *html;
	size_t len;
	/* See struct page. */
	size_t report_at;
};

struct pages {
	struct page_site site;
	/* PAGES for each language. */
	struct rendered *rendered;
};

/* The one thing to do. href "": the address of the page itself. */
static void add_action(struct page *page, const char *href, const char *key)
{
	page_add(page, "<a class=\"button\" href=\"");
	page_add_escaped(page, href);
	page_add(page, "\">");
	page_add_text(page, key);
	page_add(page, "</a>\n");
}

static struct rendered render(const struct pages *pages, size_t language, size_t which)
{
	char key[64];
	struct page page;
	page_begin(&page, &pages->site, language);
	page_begin_body(&page, all[which].icon, all[which].name, NULL, all[which].status);
	page_add(&page, "<p>");
	snprintf(key, sizeof(key), "%s.text", all[which].name);
	page_add_text(&page, key);
	page_add(&page, "</p>\n");
	if (which == START && pages->site.dashboard_url[0] != '\0')
		add_action(&page, pages->site.dashboard_url, "start.dashboard");
	if (all[which].offer == RETRY)
		add_action(&page, "", "retry");
	page_end(&page, all[which].offer == REPORT ? "" : PAGE_NO_REPORT);
	struct rendered rendered = { .report_at = page.report_at };
	rendered.html = strbuf_take(&page.html, &rendered.len);
	strbuf_clear(&page.html);
	return rendered;
}

struct pages *pages_new(const struct page_site *site)
{
	struct pages *pages = mem_zero(sizeof(*pages));
	pages->site = *site;
	size_t languages = page_texts_languages(site->texts);
	pages->rendered = mem_array(languages * PAGES, sizeof(*pages->rendered));
	for (size_t language = 0; language < languages; language++)
		for (size_t which = 0; which < PAGES; which++)
			pages->rendered[language * PAGES + which] = render(pages, language, which);
	return pages;
}

void pages_free(struct pages *pages)
{
	if (!pages)
		return;
	size_t count = page_texts_languages(pages->site.texts) * PAGES;
	for (size_t i = 0; i < count; i++)
		free(pages->rendered[i].html);
	free(pages->rendered);
	free(pages);
}

const struct page_site *pages_site(const struct pages *pages)
{
	return &pages->site;
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

/* The form for reports is told the link that was asked for. */
static void set_body(const struct pages *pages, struct http_exchange *x,
                     const struct rendered *rendered)
{
	static const char type[] = "text/html; charset=utf-8";
	char asked[PAGE_SHORT_URL_SIZE];
	struct strbuf html;
	page_asked_link(&pages->site, x, asked);
	if (rendered->report_at == 0 || asked[0] == '\0') {
		http_exchange_set_fixed_body(x, type, rendered->html, rendered->len);
		return;
	}
	strbuf_init(&html, PAGE_BYTES_MAX + LINK_URL_SIZE);
	strbuf_add(&html, rendered->html, rendered->report_at);
	strbuf_add_text(&html, "?link=");
	http_page_add_escaped(&html, asked);
	strbuf_add(&html, rendered->html + rendered->report_at,
	           rendered->len - rendered->report_at);
	http_exchange_set_body(x, type, html.data, html.len);
	strbuf_clear(&html);
}

/* False: the client wants no HTML, or there is no such page. */
static bool send_page(const struct pages *pages, struct http_exchange *x, size_t which)
{
	http_exchange_add_fixed_header(x, "Vary", "Accept, Accept-Language");
	http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	if (which >= PAGES || !pages_prefers_html(http_exchange_joined_header(x, "Accept")))
		return false;
	size_t language = page_language(&pages->site, x);
	const struct rendered *rendered = &pages->rendered[language * PAGES + which];
	page_add_policy(x, &pages->site, language, PAGE_PLAIN);
	set_body(pages, x, rendered);
	return true;
}

/* Of what is about a link here; NULL: what the status says (http_problem.h). */
static const char *kind_of(unsigned status)
{
	if (status == 401 || status == 403)
		return "link-password";
	return status == 404 ? "link-not-found" : NULL;
}

static enum http_progress respond_error(const struct pages *pages, struct http_exchange *x,
                                        size_t which, unsigned status, const char *detail)
{
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
	if (!send_page(pages, x, which))
		return http_problem_respond(x, status, kind_of(status), detail, NULL);
	http_exchange_set_status(x, status);
	return HTTP_COMPLETE;
}

enum http_progress pages_respond_error(const struct pages *pages, struct http_exchange *x,
                                       unsigned status, const char *detail)
{
	size_t which = 0;
	while (which < PAGES && all[which].status != status)
		which++;
	return respond_error(pages, x, which, status, detail);
}

enum http_progress pages_respond_reason(const struct pages *pages, struct http_exchange *x,
                                        const char *name, const char *detail)
{
	size_t which = 0;
	while (which < START && strcmp(all[which].name, name) != 0)
		which++;
	return respond_error(pages, x, which, all[which].status, detail);
}

enum http_progress pages_respond_start(const struct pages *pages, struct http_exchange *x)
{
	http_exchange_add_fixed_header(x, "Cache-Control", "no-cache");
	if (send_page(pages, x, START))
		return HTTP_COMPLETE;
	char text[LINK_URL_SIZE + 128];
	snprintf(text, sizeof(text),
	         "This is Waymark, a URL shortener. Short links begin with %s/.\n",
	         pages->site.public_base_url);
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
