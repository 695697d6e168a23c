#include "lib/http/http_page.h"

#include <stddef.h>

#include "lib/http/http_font.h"

/*
 * The colours and sizes of the dashboard (web/dashboard/src/styles/base.css). test_http_page.c fails when it
 * changes: HTTP_PAGE_STYLE_HASH must, too.
 */
static const char style[] =
	":root{color-scheme:light dark;--bg:#fafaf9;--surface:#ffffff;--surface-2:#f4f4f2;--line:#e6e5e1;--line-strong:#87867f;"
	"--text:#1b1b18;--text-muted:#605f58;--accent:#0a7a63;--accent-strong:#065c4a;--accent-soft:#e0f1eb;--on-accent:#ffffff;"
	"--danger:#b42318;--danger-soft:#fdecea}"
	"@media screen and (prefers-color-scheme:dark){:root{--bg:#111210;--surface:#191a18;--surface-2:#232422;--line:#30312e;--line-strong:#7e7f78;"
	"--text:#eeeeea;--text-muted:#a6a69e;--accent:#3fc7a6;--accent-strong:#7ce0c6;--accent-soft:#12342c;--on-accent:#06231c;"
	"--danger:#ff8f85;--danger-soft:#3a1815}}"
	"@font-face{font-family:Geist;font-weight:100 900;font-display:swap;src:url(" HTTP_FONT_PATH
	")}"
	"*{box-sizing:border-box}"
	"body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;justify-content:center;padding:24px 16px;"
	"background:var(--bg);color:var(--text);font:400 14px/20px Geist,system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif;"
	"overflow-wrap:anywhere;-webkit-text-size-adjust:100%}"
	"header,main,footer{width:100%;max-width:448px}"
	"header{margin-bottom:16px}.brand{display:inline-flex;align-items:center;gap:12px;min-height:44px;color:inherit;font-weight:600;text-decoration:none}"
	".brand svg,.brand img{display:block;flex:none;height:32px;width:auto;max-width:160px;border-radius:8px;object-fit:contain;color:var(--accent)}"
	"main{padding:32px;background:var(--surface);border:1px solid var(--line);border-radius:12px;box-shadow:0 1px 2px #1b1b180d}"
	".icon{display:block;width:40px;height:40px;margin-bottom:24px;padding:9px;border:1px solid transparent;border-radius:8px;"
	"background:var(--surface-2);color:var(--text-muted)}"
	".go{background:var(--accent-soft);color:var(--accent-strong)}.stop{background:var(--danger-soft);color:var(--danger)}"
	"h1{margin:0 0 8px;font-size:24px;line-height:32px;font-weight:600;letter-spacing:-.02em;text-wrap:balance}"
	"p{margin:0;color:var(--text-muted);text-wrap:pretty}"
	".status,.hint{font-size:12px;line-height:16px}.status{margin-bottom:4px}.hint{margin-top:4px}"
	".wrong{margin-top:16px;padding:11px 15px;border:1px solid transparent;border-radius:8px;background:var(--danger-soft);color:var(--danger);font-weight:600}"
	"a{color:var(--accent-strong);text-decoration-thickness:1px;text-underline-offset:3px}"
	":focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:8px}"
	"dl{display:grid;grid-template-columns:minmax(0,max-content) minmax(60%,1fr);gap:8px 16px;margin:24px 0 0;padding-top:24px;border-top:1px solid var(--line)}"
	"dt{color:var(--text-muted)}dd{margin:0}dd:first-of-type{font-weight:600}"
	"label{display:block;margin-top:16px;font-weight:600}"
	"input,select,textarea{display:block;width:100%;min-height:44px;margin-top:8px;padding:8px 12px;border:1px solid var(--line-strong);border-radius:8px;"
	"background:var(--surface);color:var(--text);font:inherit}"
	"textarea{resize:vertical}[aria-invalid]{border-color:var(--danger);box-shadow:inset 0 0 0 1px var(--danger)}"
	"button,.button{display:flex;align-items:center;justify-content:center;width:100%;min-height:44px;margin-top:24px;padding:8px 16px;border:1px solid transparent;"
	"border-radius:8px;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer}"
	"button:hover,.button:hover{background:var(--accent-strong)}"
	".second{margin-top:8px;border-color:var(--line-strong);background:none;color:var(--text)}.second:hover{background:var(--surface-2)}"
	"footer{display:flex;flex-wrap:wrap;align-items:center;gap:0 16px;min-height:44px;margin-top:8px;color:var(--text-muted);font-size:12px;line-height:16px}"
	"footer span{flex:1 1 auto}footer a{display:inline-flex;align-items:center;min-height:44px;color:inherit}"
	"@media(max-width:480px){body{font-size:16px;line-height:24px}main{padding:24px}footer span{flex-basis:100%}}"
	"@media(prefers-reduced-motion:no-preference){main{animation:rise 160ms cubic-bezier(.2,.8,.2,1)}button,.button{transition:background 160ms}}"
	"@keyframes rise{from{transform:translateY(8px)}}"
	"@media print{body{display:block;padding:0;background:none}main{padding:0;border:0;box-shadow:none;animation:none}button,.button{display:none}}";

/* Of 20 by 20, as those of the dashboard (icons.tsx). "go" marks what can be done, "stop" what must not be. */
static const struct {
	const char *tone, *path;
} icons[] = {
	[HTTP_PAGE_LINK] = { " go",
	                     "M8.5 11.5 11.5 8.5M9 6l2-2a3.5 3.5 0 0 1 5 5l-2 2M11 14l-2 2a3.5 3.5 0 0 1-5-5l2-2" },
	[HTTP_PAGE_BROKEN_LINK] = { "",
	                            "M9 6l2-2a3.5 3.5 0 0 1 5 5l-2 2M11 14l-2 2a3.5 3.5 0 0 1-5-5l2-2M3.5 3.5l13 13" },
	[HTTP_PAGE_CLOCK] = { "", "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM10 6v4l2.5 2" },
	[HTTP_PAGE_END] = { "", "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM7 10h6" },
	[HTTP_PAGE_WAIT] = { "",
	                     "M5 3h10M5 17h10M6.5 3c0 3.5 1 5 3.5 7-2.5 2-3.5 3.5-3.5 7M13.5 3c0 3.5-1 5-3.5 7 2.5 2 3.5 3.5 3.5 7" },
	[HTTP_PAGE_WARNING] = { "", "M10 3.5 2.5 16.5h15zM10 8.5v4M10 14.5h.01" },
	[HTTP_PAGE_BLOCKED] = { " stop",
	                        "M10 3 4 5.5V10c0 3.5 2.5 6 6 7 3.5-1 6-3.5 6-7V5.5L10 3ZM8 8l4 4M12 8l-4 4" },
	[HTTP_PAGE_LOCK] = { " go", "M5 9h10v7.5H5zM7 9V6.5a3 3 0 0 1 6 0V9" },
	[HTTP_PAGE_EYE] = { " go",
	                    "M2 10c1.8-3.3 4.6-5 8-5s6.2 1.7 8 5c-1.8 3.3-4.6 5-8 5s-6.2-1.7-8-5ZM10 12.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z" },
	[HTTP_PAGE_PHONE] = { " go", "M6 2.5h8v15H6zM9 15h2" },
	[HTTP_PAGE_FLAG] = { " go", "M5 17V3.5h9.5l-2.5 3.5 2.5 3.5H5" },
	[HTTP_PAGE_CHECK] = { " go", "m4 10.5 4 4 8-9" },
};

static const char mark[] =
	"<svg viewBox=\"0 0 32 32\" aria-hidden=\"true\"><rect width=\"32\" height=\"32\" rx=\"8\" fill=\"currentColor\"/>"
	"<path d=\"M7 10.5 12 22l4-9 4 9 5-11.5\" fill=\"none\" stroke=\"var(--surface)\" stroke-width=\"3.2\" "
	"stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>";

void http_page_begin(struct strbuf *html, const char *language)
{
	strbuf_add_format(html, "<!doctype html>\n<html lang=\"%s\">\n<head>\n", language);
	strbuf_add_text(html,
	                "<meta charset=\"utf-8\">\n"
	                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	                "<meta name=\"robots\" content=\"noindex, nofollow\">\n"
	                "<meta name=\"color-scheme\" content=\"light dark\">\n");
}

static void add_brand(struct strbuf *html, const struct http_page_brand *brand)
{
	const char *tag = brand->home[0] ? "a" : "span";
	strbuf_add_format(html, "<header><%s class=\"brand\"", tag);
	if (brand->home[0]) {
		strbuf_add_text(html, " href=\"");
		http_page_add_escaped(html, brand->home);
		strbuf_add_char(html, '"');
	}
	strbuf_add_char(html, '>');
	if (brand->logo_path[0])
		strbuf_add_format(html, "<img src=\"%s\" alt=\"\" height=\"32\">",
		                  brand->logo_path);
	else
		strbuf_add_text(html, mark);
	strbuf_add_text(html, "<span>");
	http_page_add_escaped(html, brand->name);
	strbuf_add_format(html, "</span></%s></header>\n", tag);
}

void http_page_begin_body(struct strbuf *html, const struct http_page_brand *brand,
                          enum http_page_icon icon)
{
	strbuf_add_text(html, "<style>");
	strbuf_add_text(html, style);
	strbuf_add_text(html, "</style>\n</head>\n<body>\n");
	add_brand(html, brand);
	strbuf_add_format(html,
	                  "<main>\n<svg class=\"icon%s\" viewBox=\"0 0 20 20\" fill=\"none\" "
	                  "stroke=\"currentColor\" stroke-width=\"1.5\" stroke-linecap=\"round\" "
	                  "stroke-linejoin=\"round\" aria-hidden=\"true\"><path d=\"%s\"/></svg>\n",
	                  icons[icon].tone, icons[icon].path);
}

void http_page_end_main(struct strbuf *html)
{
	strbuf_add_text(html, "</main>\n");
}

void http_page_end(struct strbuf *html)
{
	strbuf_add_text(html, "</body>\n</html>\n");
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
