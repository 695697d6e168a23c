/*
 * Secrets of API keys: "wm_" and 256 random bits as base64url. A secret is shown once; only its
 * SHA-256 is stored. A plain hash is enough, because 2^256 values cannot be guessed. Safe from any
 * thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"

#define API_KEY_PREFIX "wm_"
#define API_KEY_RANDOM_LENGTH 43
#define API_KEY_SECRET_SIZE (sizeof(API_KEY_PREFIX) + API_KEY_RANDOM_LENGTH)
#define API_KEY_HINT_LENGTH 7
#define API_KEY_HINT_SIZE (API_KEY_HINT_LENGTH + 1)

struct api_key_secret {
	char text[API_KEY_SECRET_SIZE];
	char hint[API_KEY_HINT_SIZE]; /* the first characters of text */
	uint8_t hash[DIGEST_SIZE];
};

void api_key_generate(struct api_key_secret *out);

/* True if text starts like an API key and not like an access token. */
bool api_key_has_prefix(const char *text);

/* False if text is not a well-formed key; nothing is hashed. */
bool api_key_hash(const char *text, uint8_t out[static DIGEST_SIZE]);

#endif
