/*
 * Slugs: 1 to SLUG_LENGTH_MAX of [A-Za-z0-9_.-], without a dot at either end, never used twice. Safe
 * from any thread.
 *
 * Letters of other scripts and the rest of ASCII are left out: an address with them has several
 * spellings (%C3%A4, NFC and NFD), mail programs end it in different places, and "+" and "/" at its
 * end are reserved. So whatever else follows a slug in an address is not part of it, and can be
 * ignored (slug_of_path).
 *
 * A slug that a person chose is found in either case, a random one only as it is, and so is one that
 * was chosen while SLUG_CASE was exact. Everything that stores or finds a link by its slug (the
 * table links, Redis, memory, the Bloom filter) uses its key (slug_key). Only the owner's API, events
 * and people use the slug itself.
 */
#ifndef WAYMARK_LIB_LINKS_SLUG_H
#define WAYMARK_LIB_LINKS_SLUG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/env.h"
#include "lib/base/err.h"

/* Of any slug; SLUG_LENGTH_MAX of links-api may allow less for new ones. */
#define SLUG_LENGTH_MAX 100
#define SLUG_SIZE (SLUG_LENGTH_MAX + 1)
#define SLUG_KEY_SIZE (SLUG_SIZE + 1)
#define SLUG_RANDOM_LENGTH 7
/* After this many collisions at one length, a random slug gets one character longer. */
#define SLUG_RANDOM_TRIES 5

bool slug_is_valid(const char *slug, size_t len);

/*
 * True for names that the services serve themselves ("api", "docs", "r", …), also with an ending
 * ("robots.txt"), in either case; see slug.c.
 */
bool slug_is_reserved(const char *slug);

/*
 * length characters of [0-9A-Za-z], drawn evenly with getrandom, never a reserved slug. length is
 * at most SLUG_LENGTH_MAX.
 */
void slug_random(char out[static SLUG_SIZE], size_t length);

/*
 * The key of a slug, which must be valid: the slug in lower case; of an exact one, "=" and the slug.
 * links.slug_key is the same (db/migrations). Returns its length.
 */
size_t slug_key(const char *slug, bool is_exact, char out[static SLUG_KEY_SIZE]);

/* What a path names. */
struct slug_path {
	/* As it was typed. */
	char slug[SLUG_SIZE];
	/* Its key unless it is exact. */
	char key[SLUG_KEY_SIZE];
	size_t len;
	/* What was typed behind "&" or an escaped "?", raw; "" = nothing. Borrows from the path. */
	const char *query;
	/* Of slug_of_longer_path; else "" and false. What follows, raw, from its slash on; borrows. */
	const char *rest;
	/* The path ends with "+": a question where the link leads. */
	bool is_preview;
};

/*
 * Finds the slug in a raw request path, "/{slug}" or "/r/{slug}". Escapes of characters that a slug
 * may have are decoded ("/sp%72ing"): RFC 3986 calls such paths equivalent. Ignored are what people
 * and programs leave behind an address: more slashes, punctuation and spaces of any script, invisible
 * characters, and everything from "&", "<" or an escaped "?" or "#" on. False if the path has another
 * form (a "+" or a letter behind the slug, NUL, broken escapes, more segments); out is undefined then.
 */
bool slug_of_path(const char *path, struct slug_path *out) MUST_CHECK;

/*
 * The same for the paths that go on: "/{slug}/more" and "/{slug}+". Call it where slug_of_path was
 * false. Only a link with forward_path answers to the first. False also for reserved slugs, below which
 * other things may be.
 */
bool slug_of_longer_path(const char *path, struct slug_path *out) MUST_CHECK;

/* SLUG_CASE, the same for links-api and the redirectors. */
#define SLUG_CASE_SIZE 8
#define SLUG_CASE_VAR(config_)                                                                     \
	ENV_TEXT(                                                                                  \
		"SLUG_CASE", config_, slug_case, "folded",                                         \
		"folded: slugs that people choose are found in either case; exact: all slugs only as they are")
bool slug_case_is_valid(const char *slug_case);
bool slug_case_is_exact(const char *slug_case);

#endif
