#include "lib/clicks/visitor.h"

#include <string.h>

/* The part of a user agent that an event carries. */
#define USER_AGENT_MAX 512

void visitor_hash(const struct digest_hmac_key *salt, const struct client_ip *ip,
                  const char *user_agent, uint8_t out[static DIGEST_SIZE])
{
	/* The address has a fixed length, so different visitors never hash the same bytes. */
	uint8_t bytes[sizeof(ip->bytes) + USER_AGENT_MAX];
	memcpy(bytes, ip->bytes, sizeof(ip->bytes));
	size_t len = user_agent ? strnlen(user_agent, USER_AGENT_MAX) : 0;
	if (len > 0)
		memcpy(bytes + sizeof(ip->bytes), user_agent, len);
	digest_hmac_sha256_with(salt, bytes, sizeof(ip->bytes) + len, out);
}
