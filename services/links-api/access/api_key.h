/*
 * Safe from any thread. The secrets of API keys: "wm_" and 256 random bits as base64url. Shown once; only their SHA-256
 * is stored, which is enough, because nobody can try 2^256 of them.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_API_KEY_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_API_KEY_H

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
	char hint[API_KEY_HINT_SIZE]; /* how text begins */
	uint8_t hash[DIGEST_SIZE];
};

void api_key_make(struct api_key_secret *out);

/* Whether text begins as the secrets of keys do, and not as access tokens. */
bool api_key_is_meant(const char *text);

/* False: text is none, whoever made it; then nothing was hashed. */
bool api_key_hash(const char *text, uint8_t out[static DIGEST_SIZE]);

#endif
