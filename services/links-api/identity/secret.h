/*
 * Secrets that we give out: a prefix that says what they are for, and 256 random bits as letters and
 * digits. A secret is shown once; only its SHA-256 is stored. A plain hash is enough, because 2^256
 * values cannot be guessed. Safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SECRET_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SECRET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"

#define SECRET_API_KEY "wm_"
/* Of the cookie of a session. */
#define SECRET_SESSION "wms_"
/* Opens a share (POST /api/shared/access) and is good for nothing else. */
#define SECRET_SHARE "wmshare_"
/* Sets a new password (POST /api/auth/password-reset), once. */
#define SECRET_RESET "wmr_"
/* Confirms an address (POST /api/auth/email/confirm), once. */
#define SECRET_EMAIL "wme_"
/* Proves that its holder created a link of nobody, and so may claim it. */
#define SECRET_CLAIM "wmc_"
/* Accepts an invitation (POST /api/invitations/accept), once. */
#define SECRET_INVITATION "wmi_"

/* Drawn from 62 characters: 256 bits. */
#define SECRET_RANDOM_LENGTH 43
#define SECRET_SIZE (sizeof(SECRET_SHARE) + SECRET_RANDOM_LENGTH)

struct secret {
	char text[SECRET_SIZE];
	uint8_t hash[DIGEST_SIZE];
};

void secret_generate(const char *prefix, struct secret *out);

bool secret_has_prefix(const char *text, const char *prefix);

/* True if text has the form of a secret with this prefix. */
bool secret_is_well_formed(const char *text, const char *prefix);

/* text: of any origin. A malformed one has the hash of no secret. */
void secret_hash(const char *text, uint8_t out[static DIGEST_SIZE]);

#endif
