#include "services/links-api/reports/report_page.h"

#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/http/http_accept.h"

#define STYLE                                                                                                                      \
	":root{color-scheme:light dark;--paper:#f4f2ee;--card:#fffefb;--edge:#e2ddd4;--ink:#1d2330;--soft:#555d6d;--mark:#a93f28}" \
	"@media(prefers-color-scheme:dark){:root{--paper:#12151b;--card:#1b1f28;--edge:#2d3340;--ink:#f0f2f6;--soft:#aeb6c4;"      \
	"--mark:#f49a7e}}*{box-sizing:border-box}"                                                                                 \
	"body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--paper);color:var(--ink);" \
	"font:1.0625rem/1.6 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}"                                                 \
	"main{width:100%;max-width:34rem;padding:clamp(1.5rem,6vw,3rem);background:var(--card);border:1px solid var(--edge);"      \
	"border-radius:1.25rem;overflow-wrap:anywhere}"                                                                            \
	"h1{margin:0 0 .75rem;font-size:clamp(1.5rem,5vw,2rem);line-height:1.2}p{margin:0;color:var(--soft)}"                      \
	".notice{margin-top:1rem;color:var(--mark);font-weight:600}label{display:block;margin:1.25rem 0 .25rem;font-weight:600}"   \
	"input,select,textarea{width:100%;padding:.625rem .75rem;border:1px solid var(--soft);border-radius:.625rem;"              \
	"background:var(--paper);color:var(--ink);font:inherit}[aria-invalid]{border:2px solid var(--mark)}"                       \
	"button{margin-top:1.5rem;padding:.75rem 1.5rem;border:0;border-radius:.625rem;background:var(--mark);color:var(--card);"  \
	"font:inherit;font-weight:600;cursor:pointer}:focus-visible{outline:3px solid var(--mark);outline-offset:2px}"

/* The hash of STYLE. test_report_page.c fails when STYLE changes. */
#define STYLE_HASH "sha256-fXijg7pY3u9w//PqQGoVZJnb+iIVxOemzK67/pIt3UU="

const char report_page_policy[] = "default-src 'none'; style-src '" STYLE_HASH
				  "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

enum text {
	TITLE,
	INTRO,
	LINK,
	REASON,
	CHOOSE,
	DETAILS,
	EMAIL,
	EMAIL_HINT,
	SEND,
	INVALID,
	NO_LINK,
	LIMITED,
	RECEIVED_TITLE,
	RECEIVED,
};

/* clang-format off: a text per line */
static const char *const texts[][2] = {
	[TITLE] = { "Report a link", "Einen Link melden" },
	[INTRO] = { "Tell those who run this service about a short link that harms people.",
	            "Hier erfährt der Betreiber dieses Dienstes von einem Kurzlink, der Menschen schadet." },
	[LINK] = { "Short link", "Kurzlink" },
	[REASON] = { "What is wrong with it?", "Was ist mit ihm?" },
	[CHOOSE] = { "Please choose", "Bitte wählen" },
	[DETAILS] = { "Details (optional)", "Einzelheiten (freiwillig)" },
	[EMAIL] = { "E-mail address (optional)", "E-Mail-Adresse (freiwillig)" },
	[EMAIL_HINT] = { "For questions alone. It is deleted with the report.",
	                 "Nur für Rückfragen. Sie wird mit der Meldung gelöscht." },
	[SEND] = { "Send report", "Meldung senden" },
	[INVALID] = { "Please check the marked fields.", "Bitte die markierten Felder prüfen." },
	[NO_LINK] = { "This service has no such link. Please check its address.",
	              "Diesen Link gibt es hier nicht. Bitte die Adresse prüfen." },
	[LIMITED] = { "Your network has sent many reports. Please try again later.",
	              "Aus diesem Netz kamen viele Meldungen. Bitte später noch einmal versuchen." },
	[RECEIVED_TITLE] = { "Thank you", "Danke" },
	[RECEIVED] = { "The report has been received. A person will look at the link.",
	               "Die Meldung ist angekommen. Ein Mensch sieht sich den Link an." },
};

static const struct {
	const char *name, *labels[2];
} reasons[] = {
	{ "phishing",
	  { "It imitates another site to get passwords or money",
	    "Er täuscht eine andere Website vor, um Passwörter oder Geld zu bekommen" } },
	{ "malware", { "It leads to harmful software", "Er führt zu schädlicher Software" } },
	{ "spam", { "It was sent to me unasked", "Er kam ungefragt (Spam)" } },
	{ "illegal", { "It leads to something illegal", "Er führt zu etwas Verbotenem" } },
	{ "other", { "Something else", "Etwas anderes" } },
};
/* clang-format on */

const char *report_page_reason(size_t index)
{
	return index < ARRAY_SIZE(reasons) ? reasons[index].name : NULL;
}

bool report_page_is_reason(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (strcmp(reasons[i].name, name) == 0)
			return true;
	return false;
}

const char *report_page_language_name(enum report_language language)
{
	return language == REPORT_GERMAN ? "de" : "en";
}

static bool speaks(const struct http_accept_item *item, const char *language)
{
	return strncasecmp(item->name, language, 2) == 0 &&
	       (item->len == 2 || item->name[2] == '-');
}

enum report_language report_page_language(const char *accept_language)
{
	enum report_language chosen = REPORT_ENGLISH;
	int best = 0;
	struct http_accept_item item;
	while (accept_language && http_accept_next(&accept_language, &item)) {
		bool is_german = speaks(&item, "de");
		if ((!is_german && !speaks(&item, "en")) || item.weight <= best)
			continue;
		best = item.weight;
		chosen = is_german ? REPORT_GERMAN : REPORT_ENGLISH;
	}
	return chosen;
}

/* Also for the value of an attribute in double quotes. */
static void add_escaped(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			strbuf_add_text(out, "&amp;");
			break;
		case '<':
			strbuf_add_text(out, "&lt;");
			break;
		case '>':
			strbuf_add_text(out, "&gt;");
			break;
		case '"':
			strbuf_add_text(out, "&quot;");
			break;
		default:
			strbuf_add_char(out, *text);
		}
	}
}

static void add_label(const struct report_page *page, const char *name, enum text label,
                      struct strbuf *out)
{
	strbuf_add_format(out, "<label for=\"%s\">%s</label>\n", name,
	                  texts[label][page->language]);
}

static const char *invalid(const struct report_page *page, enum report_mark mark)
{
	return page->marks & mark ? " aria-invalid=\"true\"" : "";
}

static void add_reasons(const struct report_page *page, struct strbuf *out)
{
	add_label(page, "reason", REASON, out);
	strbuf_add_format(out, "<select id=\"reason\" name=\"reason\" required%s>\n",
	                  invalid(page, REPORT_REASON));
	strbuf_add_format(out, "<option value=\"\">%s</option>\n", texts[CHOOSE][page->language]);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		strbuf_add_format(out, "<option value=\"%s\"%s>%s</option>\n", reasons[i].name,
		                  strcmp(reasons[i].name, page->reason) == 0 ? " selected" : "",
		                  reasons[i].labels[page->language]);
	strbuf_add_text(out, "</select>\n");
}

static void add_form(const struct report_page *page, struct strbuf *out)
{
	strbuf_add_text(out, "<form method=\"post\">\n");
	add_label(page, "link", LINK, out);
	strbuf_add_format(out,
	                  "<input id=\"link\" name=\"link\" required maxlength=\"%d\"%s value=\"",
	                  REPORT_LINK_BYTES_MAX, invalid(page, REPORT_LINK));
	add_escaped(out, page->link);
	strbuf_add_text(out, "\">\n");
	add_reasons(page, out);
	add_label(page, "details", DETAILS, out);
	strbuf_add_format(
		out, "<textarea id=\"details\" name=\"details\" rows=\"5\" maxlength=\"%d\"%s>\n",
		REPORT_DETAILS_CHARS_MAX, invalid(page, REPORT_DETAILS));
	add_escaped(out, page->details);
	strbuf_add_text(out, "</textarea>\n");
	add_label(page, "email", EMAIL, out);
	strbuf_add_format(out,
	                  "<input id=\"email\" name=\"email\" type=\"email\" maxlength=\"254\" "
	                  "autocomplete=\"email\" aria-describedby=\"hint\"%s value=\"",
	                  invalid(page, REPORT_EMAIL));
	add_escaped(out, page->email);
	strbuf_add_format(out, "\">\n<p id=\"hint\">%s</p>\n<button>%s</button>\n</form>\n",
	                  texts[EMAIL_HINT][page->language], texts[SEND][page->language]);
}

void report_page_write(const struct report_page *page, struct strbuf *out)
{
	static const enum text notices[] = {
		[REPORT_NOTICE_INVALID] = INVALID,
		[REPORT_NOTICE_NO_LINK] = NO_LINK,
		[REPORT_NOTICE_LIMITED] = LIMITED,
	};
	bool is_received = page->notice == REPORT_NOTICE_RECEIVED;
	const char *title = texts[is_received ? RECEIVED_TITLE : TITLE][page->language];
	strbuf_add_format(
		out,
		"<!doctype html>\n<html lang=\"%s\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"robots\" content=\"noindex, nofollow\">\n"
		"<title>%s</title>\n",
		report_page_language_name(page->language), title);
	strbuf_add_text(out, "<style>" STYLE "</style>\n</head>\n<body>\n<main>\n");
	strbuf_add_format(out, "<h1>%s</h1>\n<p>%s</p>\n", title,
	                  texts[is_received ? RECEIVED : INTRO][page->language]);
	if (page->notice != REPORT_NOTICE_NONE && !is_received)
		strbuf_add_format(out, "<p class=\"notice\" role=\"alert\">%s</p>\n",
		                  texts[notices[page->notice]][page->language]);
	if (!is_received)
		add_form(page, out);
	strbuf_add_text(out, "</main>\n</body>\n</html>\n");
}
