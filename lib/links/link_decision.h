/*
 * Where a visitor of a link with extras goes. The redirector, links-api's tester and the tests ask
 * the same function. Pure.
 *
 * The rules are tried in order. The first whose conditions all hold sends the visitor to its url,
 * ends the link for them (410), or says that the link answers as usual. So does a link whose rules
 * do not hold: the winner if one is set, else the variant that the visitor's hash picks, else
 * the link's original_url.
 *
 * A condition on something that is not known about the visitor does not hold. Names of places,
 * systems, browsers, devices, languages and hosts are compared without regard to the case of ASCII
 * letters, query parameters as they are.
 *
 * Split: each variant has the score weight / -ln(u). The highest wins, the first of equal ones. u is
 * (n + 1/2) / 2^52 with n the first 52 bits of SHA-256(hash, link_id, name): the visitor's hash of
 * 32 bytes, or the 8 bytes of the random number without one; the 8 bytes of the link_id; the
 * variant's name; numbers are big-endian. Thus a visitor keeps the variant as long as the hash
 * lasts, a day, and a changed weight moves only the visitors that it must (weighted rendezvous hashing).
 */
#ifndef WAYMARK_LIB_LINKS_LINK_DECISION_H
#define WAYMARK_LIB_LINKS_LINK_DECISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Waymark__V1__LinkExtras;

#define LINK_VISITOR_HASH_SIZE 32

/* Borrowed. A text that is NULL or "" is not known. The words are those of the statistics. */
struct link_visitor {
	/* Since 1970-01-01T00:00:00Z. */
	int64_t now_us;
	/* "DE", "DE-BY", "Munich". */
	const char *country;
	const char *region;
	const char *city;
	/* "desktop", "mobile", "tablet", "bot" or "other". */
	const char *device;
	const char *os;
	const char *browser;
	/* The whole language range with the highest weight in Accept-Language, "de-CH"; no list. */
	const char *language;
	/* Raw, without "?". */
	const char *query;
	/* As referrer_host writes it. */
	const char *referrer_host;
	bool is_bot;
	/* LINK_VISITOR_HASH_SIZE bytes; NULL = has none. */
	const uint8_t *visitor_hash;
	/* In place of the hash. */
	uint64_t random;
};

enum link_fact {
	/* country, region, city */
	LINK_FACT_PLACE = 1,
	/* device, os, browser, is_bot */
	LINK_FACT_AGENT = 2,
	/* visitor_hash, random */
	LINK_FACT_VISITOR = 4,
};

enum link_decision_kind { LINK_DECISION_REDIRECT, LINK_DECISION_GONE };

/* Borrowed from the extras and original_url. No text is NULL; "" = none. */
struct link_decision {
	enum link_decision_kind kind;
	/* "" if it is gone. */
	const char *url;
	/* Where to go if nothing opens url, which has an app's scheme. */
	const char *fallback_url;
	/* The rule that held, also one that says "as usual". */
	const char *rule;
	const char *variant;
};

/*
 * What link_decision_take may ask about a visitor, as bits of enum link_fact. Times, the language, the
 * query and the referrer cost nothing to know and are always asked.
 */
unsigned link_decision_facts(const struct Waymark__V1__LinkExtras *extras);

/* extras: opened or checked (link_extras.h). */
void link_decision_take(const struct Waymark__V1__LinkExtras *extras, int64_t link_id,
                        const char *original_url, const struct link_visitor *visitor,
                        struct link_decision *out);

#endif
