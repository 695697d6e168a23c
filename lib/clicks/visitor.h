/*
 * Pure. Who a visitor is, without keeping who they are: HMAC-SHA-256(salt of the UTC day, address, user agent). The
 * salt is deleted after its day, then nobody can tell to whom a hash belonged.
 */
#ifndef WAYMARK_LIB_CLICKS_VISITOR_H
#define WAYMARK_LIB_CLICKS_VISITOR_H

#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/net/client_ip.h"

#define VISITOR_SALT_SIZE 32

/* salt: of VISITOR_SALT_SIZE bytes, made ready. */
void visitor_hash(const struct digest_hmac_key *salt, const struct client_ip *ip, const char *user_agent,
                  uint8_t out[static DIGEST_SIZE]);

#endif
