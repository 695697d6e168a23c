#include "lib/http/http_page.h"

#include <stddef.h>

/* test_http_page.c fails when it changes: HTTP_PAGE_STYLE_HASH must, too. */
static const char style[] =
	":root{color-scheme:light dark;--paper:#f4f2ee;--card:#fffefb;--edge:#e2ddd4;--ink:#1d2330;--soft:#555d6d;--mark:#a93f28;--glow:#f7e4dd}"
	"@media(prefers-color-scheme:dark){:root{--paper:#12151b;--card:#1b1f28;--edge:#2d3340;--ink:#f0f2f6;--soft:#aeb6c4;--mark:#f49a7e;--glow:#3a2622}}"
	"*{box-sizing:border-box}"
	"body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--paper);color:var(--ink);"
	"font:1.0625rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"
	"main{width:100%;max-width:34rem;padding:clamp(1.5rem,6vw,3rem);background:var(--card);border:1px solid var(--edge);"
	"border-radius:1.25rem;overflow-wrap:anywhere}"
	"svg{display:block;width:4.5rem;height:4.5rem;padding:.9rem;border-radius:50%;background:var(--glow);color:var(--mark)}"
	".status{margin:1.5rem 0 0;color:var(--mark);font-size:.9375rem;font-weight:600;letter-spacing:.06em}"
	"h1{margin:.25rem 0 .75rem;font-size:clamp(1.5rem,5vw,2rem);line-height:1.2;letter-spacing:-.01em;text-wrap:balance}"
	"svg+h1{margin-top:1.5rem}"
	"p{margin:0;color:var(--soft);text-wrap:pretty}p+p{margin-top:.75rem}.wrong{color:var(--mark);font-weight:600}"
	"a{color:var(--mark)}:focus-visible{outline:3px solid var(--mark);outline-offset:2px}"
	"dl{margin:1.5rem 0 0}dt{color:var(--soft);font-size:.9375rem}dd{margin:0 0 .75rem;font-weight:600}"
	"label{display:block;margin-top:1.5rem;font-weight:600}"
	"input,select,textarea{width:100%;margin-top:.5rem;padding:.75rem 1rem;border:1px solid var(--soft);border-radius:.75rem;background:var(--paper);"
	"color:var(--ink);font:inherit}[aria-invalid]{border:2px solid var(--mark)}"
	"button,.button{display:inline-block;margin-top:1.5rem;padding:.75rem 1.5rem;border:0;border-radius:.75rem;background:var(--mark);"
	"color:var(--card);font:inherit;font-weight:600;text-decoration:none;cursor:pointer}"
	"footer{margin-top:2rem;color:var(--soft);font-size:.9375rem}footer a{margin-right:.75rem}";

/* Decorative. */
static const char signpost[] =
	"<svg viewBox=\"0 0 48 48\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"2.5\" "
	"stroke-linecap=\"round\" stroke-linejoin=\"round\" aria-hidden=\"true\" focusable=\"false\">"
	"<path d=\"M24 4v40M16 44h16M24 9h13l5 5-5 5H24zM24 22H11l-5 5 5 5h13z\"/></svg>";

void http_page_begin(struct strbuf *html, const char *language)
{
	strbuf_add_format(html, "<!doctype html>\n<html lang=\"%s\">\n<head>\n", language);
	strbuf_add_text(html,
	                "<meta charset=\"utf-8\">\n"
	                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	                "<meta name=\"robots\" content=\"noindex, nofollow\">\n"
	                "<meta name=\"color-scheme\" content=\"light dark\">\n");
}

void http_page_begin_body(struct strbuf *html)
{
	strbuf_add_text(html, "<style>");
	strbuf_add_text(html, style);
	strbuf_add_text(html, "</style>\n</head>\n<body>\n<main>\n");
	strbuf_add_text(html, signpost);
	strbuf_add_char(html, '\n');
}

void http_page_end(struct strbuf *html)
{
	strbuf_add_text(html, "</main>\n</body>\n</html>\n");
}

void http_page_add_escaped(struct strbuf *html, const char *text)
{
	for (; *text; text++) {
		const char *entity = *text == '&'   ? "&amp;"
		                     : *text == '<' ? "&lt;"
		                     : *text == '>' ? "&gt;"
		                     : *text == '"' ? "&quot;"
		                                    : NULL;
		if (entity)
			strbuf_add_text(html, entity);
		else
			strbuf_add_char(html, *text);
	}
}
