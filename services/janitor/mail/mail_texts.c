#include "services/janitor/mail/mail_texts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"

/* clang-format off: a text per line */
static const struct {
	const char *key;
	/* By enum mail_language. */
	const char *in[MAIL_LANGUAGES];
} built_in[] = {
	{ "invitation.subject",
	  { "{inviter} invites you to “{workspace}”", "{inviter} lädt dich in „{workspace}“ ein",
	    "{inviter} vous invite dans « {workspace} »" } },
	{ "invitation.text",
	  { "{inviter} invites you to work on short links together, in the workspace “{workspace}”.\n"
	    "The invitation works once, until {expires_at}. If you do not expect it, you can ignore this mail.",
	    "{inviter} lädt dich ein, im Arbeitsbereich „{workspace}“ gemeinsam an Kurzlinks zu arbeiten.\n"
	    "Die Einladung gilt einmal, bis {expires_at}. Wenn du sie nicht erwartest, kannst du diese E-Mail ignorieren.",
	    "{inviter} vous invite à travailler ensemble sur des liens courts, dans l’espace de travail « {workspace} ».\n"
	    "L’invitation vaut une fois, jusqu’au {expires_at}. Si vous ne l’attendez pas, vous pouvez ignorer ce message." } },
	{ "invitation.button",
	  { "Accept the invitation", "Einladung annehmen", "Accepter l’invitation" } },
	{ "invitation.foot",
	  { "You get this mail because {inviter} entered your address.",
	    "Du erhältst diese E-Mail, weil {inviter} deine Adresse angegeben hat.",
	    "Vous recevez ce message parce que {inviter} a saisi votre adresse." } },

	{ "invitation-instance.subject",
	  { "You are invited to {sender}", "Du bist zu {sender} eingeladen",
	    "Une invitation à rejoindre {sender}" } },
	{ "invitation-instance.text",
	  { "{inviter} invites you to create an account.\n"
	    "The invitation works once, until {expires_at}. If you do not expect it, you can ignore this mail.",
	    "{inviter} lädt dich ein, ein Konto anzulegen.\n"
	    "Die Einladung gilt einmal, bis {expires_at}. Wenn du sie nicht erwartest, kannst du diese E-Mail ignorieren.",
	    "{inviter} vous invite à créer un compte.\n"
	    "L’invitation vaut une fois, jusqu’au {expires_at}. Si vous ne l’attendez pas, vous pouvez ignorer ce message." } },
	{ "invitation-instance.button",
	  { "Create an account", "Konto anlegen", "Créer un compte" } },
	{ "invitation-instance.foot",
	  { "You get this mail because {inviter} entered your address.",
	    "Du erhältst diese E-Mail, weil {inviter} deine Adresse angegeben hat.",
	    "Vous recevez ce message parce que {inviter} a saisi votre adresse." } },

	{ "confirm-address.subject",
	  { "Confirm your address", "Bestätige deine Adresse", "Confirmez votre adresse" } },
	{ "confirm-address.text",
	  { "Somebody, probably you, has entered this address for an account. Please confirm that it is yours.\n"
	    "The link works once, until {expires_at}.\n"
	    "If it was not you, ignore this mail: nothing happens then.",
	    "Jemand, vermutlich du, hat diese Adresse für ein Konto angegeben. Bitte bestätige, dass es deine ist.\n"
	    "Der Link gilt einmal, bis {expires_at}.\n"
	    "Wenn du das nicht warst, ignoriere diese E-Mail: Dann geschieht nichts.",
	    "Quelqu’un, sans doute vous, a saisi cette adresse pour un compte. Confirmez qu’elle est à vous.\n"
	    "Le lien vaut une fois, jusqu’au {expires_at}.\n"
	    "Si ce n’était pas vous, ignorez ce message : il ne se passera rien." } },
	{ "confirm-address.button",
	  { "Confirm the address", "Adresse bestätigen", "Confirmer l’adresse" } },

	{ "address-changed.subject",
	  { "The address of your account has changed",
	    "Die Adresse deines Kontos hat sich geändert", "L’adresse de votre compte a changé" } },
	{ "address-changed.text",
	  { "Your account now has the address {new}. Before, it was {old}. This mail goes to both.\n"
	    "If you did not change it, somebody else can use your account. Ask your administrator at once to block it.",
	    "Dein Konto hat jetzt die Adresse {new}. Vorher war es {old}. Diese E-Mail geht an beide.\n"
	    "Wenn du das nicht warst, kann jemand anderes dein Konto benutzen. Lass es sofort von deiner Administration sperren.",
	    "Votre compte a maintenant l’adresse {new}. Avant, c’était {old}. Ce message va aux deux.\n"
	    "Si vous ne l’avez pas changée, quelqu’un d’autre peut utiliser votre compte. Demandez tout de suite à votre administrateur de le bloquer." } },

	{ "password-reset.subject",
	  { "Set a new password", "Neues Passwort setzen", "Choisir un nouveau mot de passe" } },
	{ "password-reset.text",
	  { "Somebody, probably you, has asked for a new password for your account.\n"
	    "The link works once, until {expires_at}.\n"
	    "If it was not you, ignore this mail: your password stays as it is.",
	    "Jemand, vermutlich du, hat ein neues Passwort für dein Konto angefordert.\n"
	    "Der Link gilt einmal, bis {expires_at}.\n"
	    "Wenn du das nicht warst, ignoriere diese E-Mail: Dein Passwort bleibt, wie es ist.",
	    "Quelqu’un, sans doute vous, a demandé un nouveau mot de passe pour votre compte.\n"
	    "Le lien vaut une fois, jusqu’au {expires_at}.\n"
	    "Si ce n’était pas vous, ignorez ce message : votre mot de passe reste le même." } },
	{ "password-reset.button",
	  { "Set a new password", "Neues Passwort setzen", "Choisir un nouveau mot de passe" } },

	{ "destination-died.subject",
	  { "Links that lead nowhere: {count}", "Links, die ins Leere führen: {count}",
	    "Liens qui ne mènent nulle part : {count}" } },
	{ "destination-died.text",
	  { "The destinations of these links do not answer any more, or answer with an error. Visitors cannot use them.",
	    "Die Ziele dieser Links antworten nicht mehr oder mit einem Fehler. Wer ihnen folgt, kommt nicht an.",
	    "Les destinations de ces liens ne répondent plus, ou répondent par une erreur. Les visiteurs ne peuvent pas les utiliser." } },
	{ "destination-died.button", { "Look at the links", "Links ansehen", "Voir les liens" } },
	{ "destination-died.foot",
	  { "You get this mail at most once a day, because you made these links or answer for their workspace. You can switch it off in your account.\n{settings}",
	    "Du erhältst diese E-Mail höchstens einmal am Tag, weil du diese Links angelegt hast oder für ihren Arbeitsbereich einstehst. Du kannst sie in deinem Konto abschalten.\n{settings}",
	    "Vous recevez ce message au plus une fois par jour, parce que vous avez créé ces liens ou répondez de leur espace de travail. Vous pouvez le désactiver dans votre compte.\n{settings}" } },

	{ "monthly-report.subject",
	  { "{month}: the visits of “{workspace}”", "{month}: die Besuche von „{workspace}“",
	    "Les visites de « {workspace} » en {month}" } },
	{ "monthly-report.text",
	  { "Visits of people: {visits}. In the month before: {before}. Bots are not counted.",
	    "Besuche von Menschen: {visits}. Im Monat davor: {before}. Bots sind nicht gezählt.",
	    "Visites de personnes : {visits}. Le mois précédent : {before}. Les robots ne sont pas comptés." } },
	{ "monthly-report.list",
	  { "Most visited links", "Meistbesuchte Links", "Liens les plus visités" } },
	{ "monthly-report.button",
	  { "See all statistics", "Alle Statistiken ansehen", "Voir toutes les statistiques" } },
	{ "monthly-report.foot",
	  { "You get this report because you switched it on. You can switch it off in your account.\n{settings}",
	    "Du erhältst diesen Bericht, weil du ihn eingeschaltet hast. Du kannst ihn in deinem Konto abschalten.\n{settings}",
	    "Vous recevez ce rapport parce que vous l’avez activé. Vous pouvez le désactiver dans votre compte.\n{settings}" } },

	{ "test.subject", { "Mail works", "E-Mail funktioniert", "Le courrier fonctionne" } },
	{ "test.text",
	  { "This is the test that you asked for. Mails of {sender} reach you.",
	    "Das ist der Test, den du angefordert hast. E-Mails von {sender} erreichen dich.",
	    "Voici l’essai que vous avez demandé. Les messages de {sender} vous parviennent." } },

	{ ".copy",
	  { "If the button does not work, open this address:",
	    "Falls der Knopf nicht funktioniert, öffne diese Adresse:",
	    "Si le bouton ne fonctionne pas, ouvrez cette adresse :" } },
	{ ".no-answer", { "no answer", "keine Antwort", "pas de réponse" } },
	{ ".more", { "and {more} more", "und {more} weitere", "et {more} de plus" } },
};

static const char *const months[][12] = {
	{ "January", "February", "March", "April", "May", "June", "July", "August", "September",
	  "October", "November", "December" },
	{ "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
	  "Oktober", "November", "Dezember" },
	{ "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
	  "octobre", "novembre", "décembre" },
};
/* clang-format on */

static const struct {
	const char *code, *after_day, *after_first, *before_time, *after_time, *thousands;
} forms[MAIL_LANGUAGES] = {
	[MAIL_ENGLISH] = { "en", "", "", ", ", "", "," },
	[MAIL_GERMAN] = { "de", ".", ".", ", ", " Uhr", "." },
	[MAIL_FRENCH] = { "fr", "", "er", " à ", "", "\u202f" },
};

enum mail_language mail_texts_language(const char *locale)
{
	for (enum mail_language i = 0; i < MAIL_LANGUAGES; i++)
		if (strncmp(locale, forms[i].code, 2) == 0 &&
		    (locale[2] == '\0' || locale[2] == '-'))
			return i;
	return MAIL_ENGLISH;
}

const char *mail_texts_code(enum mail_language language)
{
	return forms[language].code;
}

const char *mail_texts_get(enum mail_language language, const char *kind, const char *part)
{
	size_t len = strlen(kind);
	for (size_t i = 0; i < ARRAY_SIZE(built_in); i++) {
		const char *key = built_in[i].key;
		if (strncmp(key, kind, len) == 0 && key[len] == '.' &&
		    strcmp(key + len + 1, part) == 0)
			return built_in[i].in[language];
	}
	return NULL;
}

void mail_texts_add_time(enum mail_language language, int64_t time_us, struct strbuf *out)
{
	const time_t s = (time_t)(time_us / CLOCK_US_PER_S);
	struct tm utc;
	gmtime_r(&s, &utc);
	strbuf_add_format(
		out, "%d%s %s %d%s%02d:%02d%s UTC", utc.tm_mday,
		utc.tm_mday == 1 ? forms[language].after_first : forms[language].after_day,
		months[language][utc.tm_mon], utc.tm_year + 1900, forms[language].before_time,
		utc.tm_hour, utc.tm_min, forms[language].after_time);
}

void mail_texts_add_month(enum mail_language language, const char *month, struct strbuf *out)
{
	int year, number;
	/* NOLINTNEXTLINE(cert-err34-c): so few digits fit */
	if (sscanf(month, "%4d-%2d", &year, &number) == 2 && number >= 1 && number <= 12)
		strbuf_add_format(out, "%s %d", months[language][number - 1], year);
}

void mail_texts_add_number(enum mail_language language, int64_t number, struct strbuf *out)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, number);
	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
			strbuf_add_text(out, forms[language].thousands);
		strbuf_add_char(out, digits[i]);
	}
}
