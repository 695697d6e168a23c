#include "services/redirector/pages/page_texts.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/http/http_accept.h"

#define REASON_SIZE 160
#define BLANKS " \t\r"

/* clang-format off: a text per line */
static const struct {
	const char *key, *english, *german, *french;
} built_in[] = {
	{ "error", "Error", "Fehler", "Erreur" },
	{ "operator", "Operated by {operator}.", "Betrieben von {operator}.",
	  "Exploité par {operator}." },
	{ "contact", "Contact", "Kontakt", "Contact" },
	{ "retry", "Try again", "Noch einmal versuchen", "Réessayer" },
	{ "report", "Report abuse", "Missbrauch melden", "Signaler un abus" },
	{ "start.title", "Short links", "Kurzlinks", "Liens courts" },
	{ "start.text", "{host} shortens links. Open the whole address, such as {host}/name.",
	  "{host} kürzt Links. Öffnen Sie die ganze Adresse, etwa {host}/name.",
	  "{host} raccourcit des liens. Ouvrez l’adresse entière, par exemple {host}/nom." },
	{ "start.dashboard", "Manage short links", "Kurzlinks verwalten",
	  "Gérer les liens courts" },
	{ "400.title", "Bad request", "Ungültige Anfrage", "Requête incorrecte" },
	{ "400.text", "This is not a valid HTTP request.", "Das ist keine gültige HTTP-Anfrage.",
	  "Ce n’est pas une requête HTTP valide." },
	{ "404.title", "This link does not exist", "Diesen Link gibt es nicht",
	  "Ce lien n’existe pas" },
	{ "404.text",
	  "It may be switched off, or may not have started yet. Or the address has missing, extra or wrong characters.",
	  "Vielleicht ist er abgeschaltet oder gilt noch nicht. Oder in der Adresse fehlt ein Zeichen, oder eines ist falsch.",
	  "Il est peut-être désactivé ou pas encore actif. Ou bien il manque un caractère à l’adresse, ou l’un d’eux est faux." },
	{ "405.title", "Method not allowed", "Methode nicht erlaubt", "Méthode non autorisée" },
	{ "405.text", "This address supports GET and HEAD only.",
	  "Diese Adresse unterstützt nur GET und HEAD.",
	  "Cette adresse n’accepte que GET et HEAD." },
	{ "408.title", "Request timeout", "Zeitüberschreitung", "Délai dépassé" },
	{ "408.text", "The request took too long. Try again.",
	  "Die Anfrage dauerte zu lange. Versuchen Sie es erneut.",
	  "La requête a pris trop de temps. Réessayez." },
	{ "410.title", "This link has expired", "Dieser Link ist abgelaufen", "Ce lien a expiré" },
	{ "410.text", "Its time is over.", "Seine Zeit ist vorbei.", "Sa durée est écoulée." },
	{ "used_up.title", "This link has been used up", "Dieser Link ist aufgebraucht",
	  "Ce lien est épuisé" },
	{ "used_up.text", "It has been opened as often as it allows.",
	  "Er wurde so oft geöffnet, wie er zulässt.",
	  "Il a été ouvert autant de fois qu’il le permet." },
	{ "ended.title", "This link has ended", "Dieser Link ist beendet", "Ce lien est terminé" },
	{ "ended.text", "Who created it has ended it.", "Wer ihn angelegt hat, hat ihn beendet.",
	  "La personne qui l’a créé y a mis fin." },
	{ "411.title", "Length required", "Länge fehlt", "Longueur requise" },
	{ "411.text", "A request body needs a Content-Length.",
	  "Eine Anfrage mit Inhalt braucht Content-Length.",
	  "Une requête avec un contenu a besoin de Content-Length." },
	{ "413.title", "This request is too large", "Diese Anfrage ist zu groß",
	  "Cette requête est trop grande" },
	{ "413.text", "Short links are requested without a body.",
	  "Kurzlinks werden ohne Inhalt aufgerufen.",
	  "Les liens courts se demandent sans contenu." },
	{ "414.title", "This address is too long", "Diese Adresse ist zu lang",
	  "Cette adresse est trop longue" },
	{ "414.text", "A short link is much shorter than that.", "Ein Kurzlink ist viel kürzer.",
	  "Un lien court est bien plus court." },
	{ "429.title", "Too many requests", "Zu viele Anfragen", "Trop de requêtes" },
	{ "429.text", "Your network has tried many links that do not exist. Try again in a minute.",
	  "Aus Ihrem Netz kamen viele Links, die es nicht gibt. Versuchen Sie es in einer Minute erneut.",
	  "Votre réseau a essayé beaucoup de liens qui n’existent pas. Réessayez dans une minute." },
	{ "431.title", "This request is too large", "Diese Anfrage ist zu groß",
	  "Cette requête est trop grande" },
	{ "431.text", "Clearing this site's cookies may help.",
	  "Vielleicht hilft es, die Cookies dieser Website zu löschen.",
	  "Effacer les cookies de ce site peut aider." },
	{ "451.title", "This link is blocked", "Dieser Link ist gesperrt", "Ce lien est bloqué" },
	{ "451.text", "It leads to a site that this service has blocked.",
	  "Er führt zu einer Website, die dieser Dienst gesperrt hat.",
	  "Il mène à un site que ce service a bloqué." },
	{ "blocked.title", "This link is blocked", "Dieser Link ist gesperrt",
	  "Ce lien est bloqué" },
	{ "blocked.text", "This service has blocked it.", "Dieser Dienst hat ihn gesperrt.",
	  "Ce service l’a bloqué." },
	{ "preview.title", "Where this link leads", "Wohin dieser Link führt", "Où mène ce lien" },
	{ "preview.text", "A preview: {host} has not sent you on, and counts no visit.",
	  "Eine Vorschau: {host} hat Sie nicht weitergeleitet und zählt keinen Besuch.",
	  "Un aperçu : {host} ne vous a pas redirigé et ne compte aucune visite." },
	{ "preview.link", "Short link", "Kurzlink", "Lien court" },
	{ "preview.host", "Leads to", "Führt zu", "Mène à" },
	{ "preview.depends", "It depends on who follows it", "Das hängt davon ab, wer ihm folgt",
	  "Cela dépend de qui le suit" },
	{ "preview.locked", "Only for those who know the password",
	  "Nur für alle, die das Passwort kennen", "Seulement pour qui connaît le mot de passe" },
	{ "preview.name", "Title", "Titel", "Titre" },
	{ "preview.created", "Created", "Angelegt", "Créé" },
	/* Behind the day. */
	{ "months",
	  " January, February, March, April, May, June, July, August, September, October, November, December",
	  ". Januar,. Februar,. März,. April,. Mai,. Juni,. Juli,. August,. September,. Oktober,. November,. Dezember",
	  " janvier, février, mars, avril, mai, juin, juillet, août, septembre, octobre, novembre, décembre" },
	{ "preview.ends", "Ends", "Endet", "Se termine" },
	{ "preview.follow", "Follow the link", "Dem Link folgen", "Suivre le lien" },
	{ "password.title", "This link has a password", "Dieser Link hat ein Passwort",
	  "Ce lien a un mot de passe" },
	{ "password.text", "Ask whoever gave you the link.",
	  "Fragen Sie, wer Ihnen den Link gegeben hat.",
	  "Demandez-le à la personne qui vous a donné le lien." },
	{ "password.label", "Password", "Passwort", "Mot de passe" },
	{ "password.button", "Follow the link", "Dem Link folgen", "Suivre le lien" },
	{ "password.wrong", "Wrong password.", "Falsches Passwort.", "Mot de passe incorrect." },
	{ "password.limited", "Too many wrong passwords from your network. Try again in a minute.",
	  "Zu viele falsche Passwörter aus Ihrem Netz. Versuchen Sie es in einer Minute erneut.",
	  "Trop de mots de passe incorrects depuis votre réseau. Réessayez dans une minute." },
	{ "password.busy", "Many people want this link. Try again in a few seconds.",
	  "Viele möchten zu diesem Link. Versuchen Sie es in einigen Sekunden erneut.",
	  "Beaucoup de personnes veulent ce lien. Réessayez dans quelques secondes." },
	{ "app.title", "Opening the app", "Die App wird geöffnet", "Ouverture de l’application" },
	{ "app.text", "If nothing happens, the app may be missing.",
	  "Wenn nichts geschieht, fehlt vielleicht die App.",
	  "S’il ne se passe rien, l’application n’est peut-être pas installée." },
	{ "app.open", "Open the app", "Die App öffnen", "Ouvrir l’application" },
	{ "app.browser", "Continue in the browser", "Im Browser weiter",
	  "Continuer dans le navigateur" },
	{ "500.title", "Something went wrong here", "Hier ist etwas schiefgegangen",
	  "Une erreur s’est produite ici" },
	{ "500.text", "The error is ours, and logged. Try again later.",
	  "Der Fehler liegt bei uns und ist protokolliert. Versuchen Sie es später erneut.",
	  "L’erreur vient de nous et elle est enregistrée. Réessayez plus tard." },
	{ "503.title", "We can't check this link right now",
	  "Wir können diesen Link gerade nicht prüfen",
	  "Nous ne pouvons pas vérifier ce lien pour l’instant" },
	{ "503.text", "The problem is ours. Try again in a few seconds.",
	  "Das Problem liegt bei uns. Versuchen Sie es in einigen Sekunden erneut.",
	  "Le problème vient de nous. Réessayez dans quelques secondes." },
};
/* clang-format on */

#define KEYS ARRAY_SIZE(built_in)

struct language {
	char name[PAGE_TEXTS_LANGUAGE_SIZE];
	/* Owned; NULL: English. */
	char *values[KEYS];
};

struct page_texts {
	size_t count;
	struct language languages[PAGE_TEXTS_LANGUAGES_MAX];
};

static int find_key(const char *key)
{
	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(built_in[i].key, key) == 0)
			return (int)i;
	return -1;
}

static struct language *find_language(struct page_texts *texts, const char *name, size_t len)
{
	for (size_t i = 0; i < texts->count; i++) {
		const char *known = texts->languages[i].name;
		if (strlen(known) == len && strncasecmp(known, name, len) == 0)
			return &texts->languages[i];
	}
	return NULL;
}

static struct language *add_language(struct page_texts *texts, const char *name)
{
	if (texts->count == PAGE_TEXTS_LANGUAGES_MAX)
		return NULL;
	struct language *language = &texts->languages[texts->count++];
	snprintf(language->name, sizeof(language->name), "%s", name);
	return language;
}

static struct page_texts *new_built_in(void)
{
	struct page_texts *texts = mem_zero(sizeof(*texts));
	struct language *english = add_language(texts, "en");
	struct language *german = add_language(texts, "de");
	struct language *french = add_language(texts, "fr");
	for (size_t i = 0; i < KEYS; i++) {
		english->values[i] = mem_text(built_in[i].english);
		german->values[i] = mem_text(built_in[i].german);
		french->values[i] = mem_text(built_in[i].french);
	}
	return texts;
}

void page_texts_free(struct page_texts *texts)
{
	if (!texts)
		return;
	for (size_t i = 0; i < texts->count; i++)
		for (size_t k = 0; k < KEYS; k++)
			free(texts->languages[i].values[k]);
	free(texts);
}

/* --- the operator's file --- */

struct parser {
	struct page_texts *texts;
	/* NULL: before the first one, or a wrong one. */
	struct language *language;
	/* Already reported. */
	bool is_language_wrong;
	size_t line;
	struct strbuf *problems;
	bool has_failed;
};

static void report(struct parser *parser, const char *reason)
{
	char text[REASON_SIZE + 32];
	snprintf(text, sizeof(text), "line %zu: %s", parser->line, reason);
	parser->has_failed |= env_expect(false, "PAGES_FILE", text, parser->problems) > 0;
}

/* Removes blanks at both ends, in place. */
static char *trim(char *text)
{
	text += strspn(text, BLANKS);
	size_t len = strlen(text);
	while (len > 0 && strchr(BLANKS, text[len - 1]))
		text[--len] = '\0';
	return text;
}

static void read_language(struct parser *parser, char *name)
{
	size_t len = strlen(name);
	bool is_valid = len > 3 && len < PAGE_TEXTS_LANGUAGE_SIZE + 1 && name[len - 1] == ']';
	name[len - 1] = '\0';
	name++;
	is_valid = is_valid && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                                    "0123456789-") == strlen(name);
	parser->language = NULL;
	if (is_valid)
		parser->language = find_language(parser->texts, name, strlen(name));
	if (is_valid && !parser->language)
		parser->language = add_language(parser->texts, name);
	parser->is_language_wrong = !parser->language;
	if (!is_valid)
		report(parser, "is not a language: write [fr] or [pt-BR]");
	else if (!parser->language)
		report(parser, "more than 32 languages");
}

static void read_text(struct parser *parser, char *line)
{
	char reason[REASON_SIZE];
	char *value = strchr(line, '=');
	if (!value) {
		report(parser, "is neither [language] nor key = text");
		return;
	}
	*value++ = '\0';
	char *key = trim(line);
	value = trim(value);
	int k = find_key(key);
	if (k < 0) {
		char shown[65];
		utf8_copy_clean(key, strlen(key), shown, sizeof(shown));
		snprintf(reason, sizeof(reason), "unknown key \"%s\"", shown);
		report(parser, reason);
	} else if (*value == '\0' || strlen(value) > PAGE_TEXTS_VALUE_BYTES_MAX) {
		snprintf(reason, sizeof(reason), "the text of %s must have 1 to %d bytes", key,
		         PAGE_TEXTS_VALUE_BYTES_MAX);
		report(parser, reason);
	} else if (!utf8_is_valid(value, strlen(value))) {
		snprintf(reason, sizeof(reason), "the text of %s must be valid UTF-8", key);
		report(parser, reason);
	} else if (parser->language) {
		free(parser->language->values[k]);
		parser->language->values[k] = mem_text(value);
	} else if (!parser->is_language_wrong) {
		report(parser, "a text needs a line [language] above it");
	}
}

static void read_lines(struct parser *parser, char *content)
{
	for (char *line = content; line;) {
		char *next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		parser->line++;
		char *text = trim(line);
		if (*text == '[')
			read_language(parser, text);
		else if (*text != '\0' && *text != '#')
			read_text(parser, text);
		line = next;
	}
}

/* False: the file cannot be read, which is reported. */
static bool read_file(const char *path, struct strbuf *content, struct strbuf *problems)
{
	char chunk[4096], reason[REASON_SIZE];
	size_t len;
	FILE *file = fopen(path, "re");
	bool failed = !file;
	while (!failed && (len = fread(chunk, 1, sizeof(chunk), file)) > 0)
		strbuf_add(content, chunk, len);
	failed = failed || ferror(file);
	int saved_errno = errno;
	if (file)
		fclose(file);
	snprintf(reason, sizeof(reason), "cannot be read: %s", strerrordesc_np(saved_errno));
	size_t wrong = env_expect(!failed, "PAGES_FILE", reason, problems);
	if (wrong == 0)
		wrong = env_expect(strbuf_status(content) == OK &&
		                           strlen(content->data) == content->len,
		                   "PAGES_FILE", "must be text of at most 256 KiB", problems);
	return wrong == 0;
}

enum err page_texts_read(const char *path, struct strbuf *problems, struct page_texts **out)
{
	struct parser parser = { .texts = new_built_in(), .problems = problems };
	if (path[0] != '\0') {
		struct strbuf content;
		strbuf_init(&content, PAGE_TEXTS_FILE_BYTES_MAX);
		if (read_file(path, &content, problems))
			read_lines(&parser, content.data);
		else
			parser.has_failed = true;
		strbuf_clear(&content);
	}
	if (parser.has_failed) {
		page_texts_free(parser.texts);
		return ERR_INVALID;
	}
	*out = parser.texts;
	return OK;
}

/* --- reading --- */

size_t page_texts_languages(const struct page_texts *texts)
{
	return texts->count;
}

const char *page_texts_language(const struct page_texts *texts, size_t language)
{
	return texts->languages[language].name;
}

const char *page_texts_get(const struct page_texts *texts, size_t language, const char *key)
{
	int k = find_key(key);
	if (k < 0)
		return NULL;
	const char *own = texts->languages[language].values[k];
	return own ? own : texts->languages[0].values[k];
}

/* The language of a range such as "de-AT", or of its beginning; the count if there is none. */
static size_t look_up(const struct page_texts *texts, const char *range, size_t len)
{
	while (len > 0) {
		for (size_t i = 0; i < texts->count; i++)
			if (strlen(texts->languages[i].name) == len &&
			    strncasecmp(texts->languages[i].name, range, len) == 0)
				return i;
		do
			len--;
		while (len > 0 && range[len] != '-');
	}
	return texts->count;
}

size_t page_texts_choose(const struct page_texts *texts, const char *accept_language)
{
	struct http_accept_item range;
	size_t best = 0;
	int best_weight = 0;
	while (accept_language && http_accept_next(&accept_language, &range)) {
		size_t found = look_up(texts, range.name, range.len);
		if (found < texts->count && range.weight > best_weight) {
			best = found;
			best_weight = range.weight;
		}
	}
	return best;
}
