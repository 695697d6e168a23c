#include "services/links-api/reports/report_page.h"

#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/http/http_accept.h"

#define POLICY(images_)                                                                            \
	"default-src 'none'; style-src '" HTTP_PAGE_STYLE_HASH "'; font-src 'self'; " images_      \
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

const char *report_page_policy(const struct report_page *page)
{
	return page->brand.logo_path[0] ? POLICY("img-src 'self'; ") : POLICY("");
}

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
	OPERATOR,
};

/* clang-format off: a text per line */
static const char *const texts[][REPORT_LANGUAGES] = {
	[TITLE] = { "Report a link", "Einen Link melden", "Signaler un lien" },
	[INTRO] = { "Does a short link harm people? Tell the operator of this service.",
	            "Schadet ein Kurzlink Menschen? Sagen Sie es dem Betreiber dieses Dienstes.",
	            "Un lien court nuit-il à des personnes ? Dites-le à l’exploitant de ce service." },
	[LINK] = { "Short link", "Kurzlink", "Lien court" },
	[REASON] = { "What is wrong with it?", "Was stimmt nicht mit ihm?",
	             "Quel est le problème ?" },
	[CHOOSE] = { "Choose", "Wählen", "Choisir" },
	[DETAILS] = { "Details (optional)", "Details (optional)", "Détails (facultatif)" },
	[EMAIL] = { "E-mail address (optional)", "E-Mail-Adresse (optional)",
	            "Adresse e-mail (facultatif)" },
	[EMAIL_HINT] = { "For questions only. Deleted with the report.",
	                 "Nur für Rückfragen. Wird mit der Meldung gelöscht.",
	                 "Pour des questions seulement. Effacée avec le signalement." },
	[SEND] = { "Send report", "Meldung senden", "Envoyer le signalement" },
	[INVALID] = { "Check the marked fields.", "Prüfen Sie die markierten Felder.",
	              "Vérifiez les champs marqués." },
	[NO_LINK] = { "This service has no such link. Check its address.",
	              "Diesen Link gibt es hier nicht. Prüfen Sie die Adresse.",
	              "Ce service n’a pas ce lien. Vérifiez son adresse." },
	[LIMITED] = { "Too many reports from your network. Try again later.",
	              "Zu viele Meldungen aus Ihrem Netz. Versuchen Sie es später erneut.",
	              "Trop de signalements depuis votre réseau. Réessayez plus tard." },
	[RECEIVED_TITLE] = { "Thank you", "Danke", "Merci" },
	[RECEIVED] = { "A person will look at the link.", "Ein Mensch sieht sich den Link an.",
	               "Une personne va examiner le lien." },
	[OPERATOR] = { "Operated by", "Betrieben von", "Exploité par" },
};

static const struct {
	const char *name, *labels[REPORT_LANGUAGES];
} reasons[] = {
	{ "phishing",
	  { "It imitates another site to get passwords or money",
	    "Er täuscht eine andere Website vor, um Passwörter oder Geld zu bekommen",
	    "Il imite un autre site pour obtenir des mots de passe ou de l’argent" } },
	{ "malware",
	  { "It leads to harmful software", "Er führt zu schädlicher Software",
	    "Il mène à un logiciel malveillant" } },
	{ "spam",
	  { "It was sent to me unasked", "Er kam ungefragt (Spam)",
	    "Je l’ai reçu sans l’avoir demandé (spam)" } },
	{ "illegal",
	  { "It leads to something illegal", "Er führt zu etwas Verbotenem",
	    "Il mène à quelque chose d’illégal" } },
	{ "other", { "Something else", "Etwas anderes", "Autre chose" } },
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

static const char *const codes[REPORT_LANGUAGES] = { "en", "de", "fr" };

const char *report_page_language_name(enum report_language language)
{
	return codes[language];
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
	while (accept_language && http_accept_next(&accept_language, &item))
		for (enum report_language i = 0; i < REPORT_LANGUAGES; i++)
			if (speaks(&item, codes[i]) && item.weight > best) {
				best = item.weight;
				chosen = i;
			}
	return chosen;
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
	http_page_add_escaped(out, page->link);
	strbuf_add_text(out, "\">\n");
	add_reasons(page, out);
	add_label(page, "details", DETAILS, out);
	strbuf_add_format(
		out, "<textarea id=\"details\" name=\"details\" rows=\"5\" maxlength=\"%d\"%s>\n",
		REPORT_DETAILS_CHARS_MAX, invalid(page, REPORT_DETAILS));
	http_page_add_escaped(out, page->details);
	strbuf_add_text(out, "</textarea>\n");
	add_label(page, "email", EMAIL, out);
	strbuf_add_format(out,
	                  "<input id=\"email\" name=\"email\" type=\"email\" maxlength=\"254\" "
	                  "autocomplete=\"email\" aria-describedby=\"hint\"%s value=\"",
	                  invalid(page, REPORT_EMAIL));
	http_page_add_escaped(out, page->email);
	strbuf_add_format(
		out, "\">\n<p class=\"hint\" id=\"hint\">%s</p>\n<button>%s</button>\n</form>\n",
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
	http_page_begin(out, report_page_language_name(page->language));
	strbuf_add_format(out, "<title>%s</title>\n", title);
	if (page->brand.logo_path[0])
		strbuf_add_format(out, "<link rel=\"icon\" href=\"%s\">\n", page->brand.logo_path);
	http_page_begin_body(out, &page->brand, is_received ? HTTP_PAGE_CHECK : HTTP_PAGE_FLAG);
	strbuf_add_format(out, "<h1>%s</h1>\n<p>%s</p>\n", title,
	                  texts[is_received ? RECEIVED : INTRO][page->language]);
	if (page->notice != REPORT_NOTICE_NONE && !is_received)
		strbuf_add_format(out, "<p class=\"wrong\" role=\"alert\">%s</p>\n",
		                  texts[notices[page->notice]][page->language]);
	if (!is_received)
		add_form(page, out);
	http_page_end_main(out);
	if (page->operator_name[0] != '\0') {
		strbuf_add_format(out, "<footer><span>%s ", texts[OPERATOR][page->language]);
		http_page_add_escaped(out, page->operator_name);
		strbuf_add_text(out, ".</span></footer>\n");
	}
	http_page_end(out);
}
