#include "services/redirector/error_page.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/http/http_accept.h"
#include "lib/http/http_problem.h"

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
	"p{margin:0;color:var(--soft);text-wrap:pretty}"

/* The hash of STYLE for the policy. test_error_page.c fails when STYLE changes. */
#define STYLE_HASH "sha256-MWlF3Pjj5zWSBFGKBk+crfrhTfjknimWgbOIcHmkcO8="

/* A signpost. Decorative: screen readers skip it. */
#define SIGNPOST                                                                                       \
	"<svg viewBox=\"0 0 48 48\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.5\" "       \
	"stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\" focusable=\"false\">" \
	"<path d=\"M24 4v40M16 44h16M24 9h13l5 5-5 5H24zM24 22H11l-5 5 5 5h13z\"/></svg>"

#define PAGE(status, title, text)                                                                  \
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                  \
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"               \
	"<meta name=\"robots\" content=\"noindex, nofollow\">\n"                                   \
	"<meta name=\"color-scheme\" content=\"light dark\">\n"                                    \
	"<title>" title "</title>\n<style>" STYLE "</style>\n</head>\n<body>\n<main>\n" SIGNPOST   \
	"\n<p class=\"status\">Error " status "</p>\n<h1>" title "</h1>\n<p>" text                 \
	"</p>\n</main>\n</body>\n</html>\n"

#define CONTENT_SECURITY_POLICY                                                                    \
	"default-src 'none'; style-src '" STYLE_HASH                                               \
	"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define ROW(number, title, text)                                                                   \
	{                                                                                          \
		.status = (number), .html = PAGE(#number, title, text),                            \
		.len = sizeof(PAGE(#number, title, text)) - 1                                      \
	}

static const struct page {
	unsigned status;
	size_t len;
	const char *html;
} pages[] = {
	ROW(404, "This link does not exist",
	    "Check the address for a missing or wrong character: upper and lower case matter."),
	ROW(410, "This link has expired", "It was created for a limited time, which is over."),
	ROW(451, "This link is blocked",
	    "It leads to a site that this service has blocked. The creator of the link cannot change that."),
	ROW(429, "Too many requests",
	    "Your network has requested many links that do not exist. Please wait a minute and try again."),
	ROW(503, "This link cannot be looked up right now",
	    "The link itself is fine. Please try again in a few seconds."),
	ROW(405, "Method not allowed", "This address supports GET and HEAD only."),
	ROW(400, "Bad request", "This is not a valid HTTP request."),
	ROW(408, "Request timeout", "The request did not arrive in time. Please try again."),
	ROW(411, "Length required", "A request body needs a Content-Length."),
	ROW(413, "This request is too large", "Short links are requested without a body."),
	ROW(414, "This address is too long", "A short link is much shorter than that."),
	ROW(431, "This request is too large",
	    "Its headers are too large. Clearing this site's cookies may help."),
	ROW(500, "Something went wrong here",
	    "The error is on our side and has been logged. Please try again later."),
};

static const struct page *find_page(unsigned status)
{
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		if (pages[i].status == status)
			return &pages[i];
	}
	return NULL;
}

enum specificity { UNNAMED, BY_WILDCARD, BY_TYPE_RANGE, BY_EXACT_TYPE };

/* How much the client prefers one type: the most specific range that matches it decides. */
struct preference {
	enum specificity specificity;
	int weight;
};

static void prefer(struct preference *preference, enum specificity specificity, int weight)
{
	if (specificity > preference->specificity ||
	    (specificity == preference->specificity && weight > preference->weight))
		*preference = (struct preference){ specificity, weight };
}

bool error_page_prefers_html(const char *accept)
{
	struct preference html = { 0 }, json = { 0 };
	struct http_accept_item range;
	while (accept && http_accept_next(&accept, &range)) {
		int weight = range.weight < 0 ? HTTP_ACCEPT_WEIGHT_MAX : range.weight;
		if (http_accept_is(&range, "text/html"))
			prefer(&html, BY_EXACT_TYPE, weight);
		else if (http_accept_is(&range, "text/*"))
			prefer(&html, BY_TYPE_RANGE, weight);
		else if (http_accept_is(&range, "application/problem+json") ||
		         http_accept_is(&range, "application/json"))
			prefer(&json, BY_EXACT_TYPE, weight);
		else if (http_accept_is(&range, "application/*"))
			prefer(&json, BY_TYPE_RANGE, weight);
		else if (http_accept_is(&range, "*/*")) {
			prefer(&html, BY_WILDCARD, weight);
			prefer(&json, BY_WILDCARD, weight);
		}
	}
	return html.weight > json.weight ||
	       (html.weight > 0 && html.weight == json.weight && html.specificity > BY_WILDCARD);
}

enum http_progress error_page_respond(struct http_exchange *x, unsigned status, const char *detail)
{
	http_exchange_add_fixed_header(x, "Cache-Control", "no-store");
	http_exchange_add_fixed_header(x, "Vary", "Accept");
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex, nofollow");
	http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	const struct page *page = error_page_prefers_html(http_exchange_joined_header(x, "Accept"))
	                                  ? find_page(status)
	                                  : NULL;
	if (!page)
		return http_problem_respond(x, status, NULL, detail, NULL);
	http_exchange_set_status(x, status);
	http_exchange_add_fixed_header(x, "Content-Security-Policy", CONTENT_SECURITY_POLICY);
	http_exchange_set_fixed_body(x, "text/html; charset=utf-8", page->html, page->len);
	return HTTP_COMPLETE;
}

void error_page_respond_for_server(void *ctx, struct http_exchange *x, unsigned status,
                                   const char *detail)
{
	(void)ctx;
	error_page_respond(x, status, detail);
}
