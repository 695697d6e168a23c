#include "services/redirector/page.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/net/http_problem.h"

#define STYLE                                                                                                          \
	":root{color-scheme:light dark;--paper:#f6f5f2;--ink:#1d2330;--soft:#5a6272;--mark:#b4442c}"                   \
	"@media(prefers-color-scheme:dark){:root{--paper:#14171e;--ink:#eceef2;--soft:#a3abba;--mark:#f08a6c}}"        \
	"*{box-sizing:border-box}"                                                                                     \
	"body{margin:0;min-height:100vh;display:grid;place-items:center;padding:2rem;background:var(--paper);"         \
	"color:var(--ink);font:1.0625rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"                    \
	"main{max-width:30rem}"                                                                                        \
	"svg{width:4.5rem;height:4.5rem;color:var(--mark)}"                                                            \
	".status{margin:1rem 0 0;color:var(--mark);font-weight:600;letter-spacing:.08em}"                              \
	"h1{margin:.15rem 0 .6rem;font-size:1.9rem;line-height:1.2;text-wrap:balance}"                                 \
	"p{margin:0;color:var(--soft)}"

/* A signpost; it says nothing that the words do not say. */
#define SIGNPOST                                                                                                       \
	"<svg viewBox=\"0 0 48 48\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.5\" "                       \
	"stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\" focusable=\"false\">"                 \
	"<path d=\"M24 4v40M16 44h16M24 9h13l5 5-5 5H24zM24 22H11l-5 5 5 5h13z\"/></svg>"

#define PAGE(status, title, text)                                                                                      \
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                                      \
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"                                   \
	"<meta name=\"robots\" content=\"noindex, nofollow\">\n"                                                       \
	"<meta name=\"color-scheme\" content=\"light dark\">\n"                                                        \
	"<title>" title "</title>\n<style>" STYLE "</style>\n</head>\n<body>\n<main>\n" SIGNPOST                       \
	"\n<p class=\"status\">" status "</p>\n<h1>" title "</h1>\n<p>" text "</p>\n</main>\n</body>\n</html>\n"

#define ROW(number, title, text)                                                                                       \
	{                                                                                                              \
		.status = (number), .html = PAGE(#number, title, text), .len = sizeof(PAGE(#number, title, text)) - 1  \
	}

static const struct page {
	unsigned status;
	size_t len;
	const char *html;
} pages[] = {
	ROW(404, "This link leads nowhere",
	    "There is no such short link. Check it for a missing or a mixed-up character: upper and lower case matter."),
	ROW(410, "This link has expired", "It was made for a limited time, and that time is over."),
	ROW(429, "Too many tries",
	    "Many links that do not exist were asked for from your network. Please wait a minute and try again."),
	ROW(503, "We cannot look this link up just now",
	    "Nothing is wrong with the link. Please try again in a few seconds."),
	ROW(405, "Links can only be followed", "This address answers GET and HEAD, nothing else."),
	ROW(400, "This request cannot be understood", "It is not a valid HTTP request."),
	ROW(408, "That took too long", "The request did not arrive in time. Please try again."),
	ROW(414, "This address is too long", "A short link is much shorter than that."),
	ROW(500, "Something went wrong here",
	    "It is our mistake, and it has been written down. Please try again later."),
};

static const struct page *find_page(unsigned status)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		if (pages[i].status == status)
			return &pages[i];
	}
	return NULL;
}

/* "text/html;q=0.8" → its weight in thousandths; a weight that cannot be read counts as 1000. */
static int weight_of(const char *range, size_t len)
{
	for (size_t i = 0; i + 2 < len; i++) {
		if (range[i] != ';')
			continue;
		size_t at = i + 1;
		while (at < len && (range[at] == ' ' || range[at] == '\t'))
			at++;
		if (at + 2 >= len || strncasecmp(range + at, "q=", 2) != 0)
			continue;
		double weight = strtod(range + at + 2, NULL);
		return weight >= 0 && weight <= 1 ? (int)(weight * 1000) : 1000;
	}
	return 1000;
}

static bool is_range_of(const char *range, size_t len, const char *type)
{
	size_t type_len = strlen(type);
	return len >= type_len && strncasecmp(range, type, type_len) == 0 &&
	       (len == type_len || strchr(" \t;", range[type_len]));
}

bool page_is_wanted(const char *accept)
{
	int html = 0;
	int json = 0;
	while (accept && *accept) {
		accept += strspn(accept, " \t,");
		size_t len = strcspn(accept, ",");
		int weight = weight_of(accept, len);
		if (is_range_of(accept, len, "text/html"))
			html = weight;
		else if (is_range_of(accept, len, "application/problem+json") ||
		         is_range_of(accept, len, "application/json"))
			json = weight > json ? weight : json;
		accept += len;
	}
	return html > 0 && html >= json;
}

enum http_progress page_answer(struct http_exchange *x, unsigned status, const char *detail)
{
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	http_exchange_add_fixed_header(x, "Vary", "Accept");
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
	http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	const struct page *page = page_is_wanted(http_exchange_header(x, "Accept")) ? find_page(status) : NULL;
	if (!page)
		return http_problem_answer(x, status, NULL, detail, NULL);
	http_exchange_set_status(x, status);
	http_exchange_add_fixed_header(x, "Content-Security-Policy",
	                               "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'");
	http_exchange_set_fixed_body(x, "text/html; charset=utf-8", page->html, page->len);
	return HTTP_ANSWERED;
}

void page_refusal(void *ctx, struct http_exchange *x, unsigned status, const char *detail)
{
	(void)ctx;
	page_answer(x, status, detail);
}
