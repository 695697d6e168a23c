/*
 * One thread at a time. One page for a visitor, while it is written, in their language
 * (lib/http/http_page.h).
 *
 *   struct page page;
 *   page_begin(&page, site, page_language(site, x));
 *   page_begin_body(&page, HTTP_PAGE_EYE, "preview", NULL, 0);
 *   page_add(&page, "<p>");
 *   page_add_text(&page, "preview.text");
 *   page_add(&page, "</p>\n");
 *   page_end(&page, PAGE_NO_REPORT);
 *   return page_respond(&page, x, 200, PAGE_PLAIN);
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_PAGES_PAGE_H
#define WAYMARK_SERVICES_REDIRECTOR_PAGES_PAGE_H

#include "lib/base/strbuf.h"
#include "lib/http/http_logo.h"
#include "lib/http/http_page.h"
#include "lib/http/http_server.h"
#include "services/redirector/pages/page_texts.h"

/* A page beyond it is answered 500. */
#define PAGE_BYTES_MAX ((size_t)64 * 1024)

/* What all pages say of their site. Everything is borrowed. */
struct page_site {
	const struct page_texts *texts;
	/* Of short links: "https://sho.rt". */
	const char *public_base_url;
	/* Linked from the start page; its origin has the form for reports. "": neither. */
	const char *dashboard_url;
	/* "": the host of short links stands at the top. */
	const char *operator_name;
	/* NULL: none. */
	const struct http_logo *logo;
	/* A mail address or a URL; "": none. */
	const char *operator_contact;
};

struct page {
	const struct page_site *site;
	size_t language;
	struct strbuf html;
	/* Where the query "?link=" of the form for reports begins, or would; 0: there is no link to it. */
	size_t report_at;
};

enum page_policy {
	PAGE_PLAIN,
	/*
	 * Its form is sent to the page itself. No form-action: browsers would apply it to the
	 * redirects behind the form, and so to any destination.
	 */
	PAGE_WITH_FORM,
};

/* The language of page_texts that the visitor prefers. */
size_t page_language(const struct page_site *site, struct http_exchange *x);

/* Begins a page; what is added next is in its head. */
void page_begin(struct page *page, const struct page_site *site, size_t language);
/*
 * Ends the head, and begins the body up to its heading: title, or the text NAME.title if it is
 * NULL. status: shown above the heading; 0: none.
 */
void page_begin_body(struct page *page, enum http_page_icon icon, const char *name,
                     const char *title, unsigned status);

void page_add(struct page *page, const char *html);
/* Any text, escaped; also for the value of an attribute in double quotes. */
void page_add_escaped(struct page *page, const char *text);
/* A text of page_texts, escaped, {host} and {operator} replaced. */
void page_add_text(struct page *page, const char *key);

#define PAGE_SHORT_URL_SIZE 512
/* The short URL of the link that was asked for; "": its path is that of no link. */
void page_asked_link(const struct page_site *site, const struct http_exchange *x,
                     char out[static PAGE_SHORT_URL_SIZE]);

/* What report_link of page_end may be beside the short URL of a link. */
#define PAGE_NO_REPORT NULL
/*
 * Ends the card, and the page with the operator and, if the site has a dashboard, a link to the form for reports:
 * of report_link, an absolute URL without characters that a query reserves; "": of no link.
 */
void page_end(struct page *page, const char *report_link);

/* The headers of a page that depend on its content: its language, and what it may load and do. */
void page_add_policy(struct http_exchange *x, const struct page_site *site, size_t language,
                     enum page_policy policy);

/* Completes x with the page, which has ended, and clears it. Cache-Control is no-store. */
enum http_progress page_respond(struct page *page, struct http_exchange *x, unsigned status,
                                enum page_policy policy);

#endif
