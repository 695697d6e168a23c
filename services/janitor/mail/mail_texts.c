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
	const char *in[2];
} built_in[] = {
	{ "invitation.subject",
	  { "{inviter} invites you to “{workspace}”",
	    "{inviter} lädt dich in „{workspace}“ ein" } },
	{ "invitation.text",
	  { "{inviter} invites you to work on short links together, in the workspace “{workspace}”.\n"
	    "The invitation works once, until {expires_at}. If you do not expect it, you can ignore this mail.",
	    "{inviter} lädt dich ein, im Arbeitsbereich „{workspace}“ gemeinsam an Kurzlinks zu arbeiten.\n"
	    "Die Einladung gilt einmal, bis {expires_at}. Wenn du sie nicht erwartest, kannst du diese E-Mail ignorieren." } },
	{ "invitation.button", { "Accept the invitation", "Einladung annehmen" } },
	{ "invitation.foot",
	  { "You get this mail because {inviter} entered your address.",
	    "Du erhältst diese E-Mail, weil {inviter} deine Adresse angegeben hat." } },

	{ "invitation-instance.subject",
	  { "You are invited to {sender}", "Du bist zu {sender} eingeladen" } },
	{ "invitation-instance.text",
	  { "{inviter} invites you to create an account.\n"
	    "The invitation works once, until {expires_at}. If you do not expect it, you can ignore this mail.",
	    "{inviter} lädt dich ein, ein Konto anzulegen.\n"
	    "Die Einladung gilt einmal, bis {expires_at}. Wenn du sie nicht erwartest, kannst du diese E-Mail ignorieren." } },
	{ "invitation-instance.button", { "Create an account", "Konto anlegen" } },
	{ "invitation-instance.foot",
	  { "You get this mail because {inviter} entered your address.",
	    "Du erhältst diese E-Mail, weil {inviter} deine Adresse angegeben hat." } },

	{ "confirm-address.subject", { "Confirm your address", "Bestätige deine Adresse" } },
	{ "confirm-address.text",
	  { "Somebody, probably you, has entered this address for an account. Please confirm that it is yours.\n"
	    "The link works once, until {expires_at}.\n"
	    "If it was not you, ignore this mail: nothing happens then.",
	    "Jemand, vermutlich du, hat diese Adresse für ein Konto angegeben. Bitte bestätige, dass es deine ist.\n"
	    "Der Link gilt einmal, bis {expires_at}.\n"
	    "Wenn du das nicht warst, ignoriere diese E-Mail: Dann geschieht nichts." } },
	{ "confirm-address.button", { "Confirm the address", "Adresse bestätigen" } },

	{ "address-changed.subject",
	  { "The address of your account has changed",
	    "Die Adresse deines Kontos hat sich geändert" } },
	{ "address-changed.text",
	  { "Your account now has the address {new}. Before, it was {old}. This mail goes to both.\n"
	    "If you did not change it, somebody else can use your account. Ask your administrator at once to block it.",
	    "Dein Konto hat jetzt die Adresse {new}. Vorher war es {old}. Diese E-Mail geht an beide.\n"
	    "Wenn du das nicht warst, kann jemand anderes dein Konto benutzen. Lass es sofort von deiner Administration sperren." } },

	{ "password-reset.subject", { "Set a new password", "Neues Passwort setzen" } },
	{ "password-reset.text",
	  { "Somebody, probably you, has asked for a new password for your account.\n"
	    "The link works once, until {expires_at}.\n"
	    "If it was not you, ignore this mail: your password stays as it is.",
	    "Jemand, vermutlich du, hat ein neues Passwort für dein Konto angefordert.\n"
	    "Der Link gilt einmal, bis {expires_at}.\n"
	    "Wenn du das nicht warst, ignoriere diese E-Mail: Dein Passwort bleibt, wie es ist." } },
	{ "password-reset.button", { "Set a new password", "Neues Passwort setzen" } },

	{ "destination-died.subject",
	  { "Links that lead nowhere: {count}", "Links, die ins Leere führen: {count}" } },
	{ "destination-died.text",
	  { "The destinations of these links do not answer any more, or answer with an error. Visitors cannot use them.",
	    "Die Ziele dieser Links antworten nicht mehr oder mit einem Fehler. Wer ihnen folgt, kommt nicht an." } },
	{ "destination-died.button", { "Look at the links", "Links ansehen" } },
	{ "destination-died.foot",
	  { "You get this mail at most once a day, because you made these links or answer for their workspace. You can switch it off in your account.\n{settings}",
	    "Du erhältst diese E-Mail höchstens einmal am Tag, weil du diese Links angelegt hast oder für ihren Arbeitsbereich einstehst. Du kannst sie in deinem Konto abschalten.\n{settings}" } },

	{ "monthly-report.subject",
	  { "{month}: the visits of “{workspace}”", "{month}: die Besuche von „{workspace}“" } },
	{ "monthly-report.text",
	  { "Visits of people: {visits}. In the month before: {before}. Bots are not counted.",
	    "Besuche von Menschen: {visits}. Im Monat davor: {before}. Bots sind nicht gezählt." } },
	{ "monthly-report.list", { "Most visited links", "Meistbesuchte Links" } },
	{ "monthly-report.button", { "See all statistics", "Alle Statistiken ansehen" } },
	{ "monthly-report.foot",
	  { "You get this report because you switched it on. You can switch it off in your account.\n{settings}",
	    "Du erhältst diesen Bericht, weil du ihn eingeschaltet hast. Du kannst ihn in deinem Konto abschalten.\n{settings}" } },

	{ "test.subject", { "Mail works", "E-Mail funktioniert" } },
	{ "test.text",
	  { "This is the test that you asked for. Mails of {sender} reach you.",
	    "Das ist der Test, den du angefordert hast. E-Mails von {sender} erreichen dich." } },

	{ ".copy",
	  { "If the button does not work, open this address:",
	    "Falls der Knopf nicht funktioniert, öffne diese Adresse:" } },
	{ ".no-answer", { "no answer", "keine Antwort" } },
	{ ".more", { "and {more} more", "und {more} weitere" } },
};

static const char *const months[][12] = {
	{ "January", "February", "March", "April", "May", "June", "July", "August", "September",
	  "October", "November", "December" },
	{ "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September",
	  "Oktober", "November", "Dezember" },
};
/* clang-format on */

enum mail_language mail_texts_language(const char *locale)
{
	bool is_german = strncmp(locale, "de", 2) == 0 && (locale[2] == '\0' || locale[2] == '-');
	return is_german ? MAIL_GERMAN : MAIL_ENGLISH;
}

const char *mail_texts_code(enum mail_language language)
{
	return language == MAIL_GERMAN ? "de" : "en";
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
	strbuf_add_format(out, "%d%s %s %d, %02d:%02d%s UTC", utc.tm_mday,
	                  language == MAIL_GERMAN ? "." : "", months[language][utc.tm_mon],
	                  utc.tm_year + 1900, utc.tm_hour, utc.tm_min,
	                  language == MAIL_GERMAN ? " Uhr" : "");
}

void mail_texts_add_month(enum mail_language language, const char *month, struct strbuf *out)
{
	int year, number;
	if (sscanf(month, "%4d-%2d", &year, &number) == 2 && number >= 1 && number <= 12)
		strbuf_add_format(out, "%s %d", months[language][number - 1], year);
}

void mail_texts_add_number(enum mail_language language, int64_t number, struct strbuf *out)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, number);
	for (size_t i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
			strbuf_add_char(out, language == MAIL_GERMAN ? '.' : ',');
		strbuf_add_char(out, digits[i]);
	}
}
