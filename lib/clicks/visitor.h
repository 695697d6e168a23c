/*
 * A pseudonym of a visitor: HMAC-SHA-256(salt of the UTC day, address, user agent). The salt is
 * deleted after its day; from then on a hash cannot be traced back to a visitor. Pure.
 */
#ifndef WAYMARK_LIB_CLICKS_VISITOR_H
#define WAYMARK_LIB_CLICKS_VISITOR_H

#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/digest.h"

#define VISITOR_SALT_SIZE 32

/* salt is a precomputed key of VISITOR_SALT_SIZE bytes. user_agent may be NULL. */
void visitor_hash(const struct digest_hmac_key *salt, const struct client_ip *ip,
                  const char *user_agent, uint8_t out[static DIGEST_SIZE]);

#endif
