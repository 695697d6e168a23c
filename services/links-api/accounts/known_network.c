#include "services/links-api/accounts/known_network.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/digest.h"
#include "services/links-api/identity/jwt_secrets.h"

#define KEPT_S "2592000" /* 30 days */
#define PREFIX "limit:known:"
#define KEY_SIZE (sizeof(PREFIX) + 2 * DIGEST_SIZE)

/* Keyed with the secret that signs tokens: a new secret forgets all networks. */
static void make_key(struct request *r, const char *account, char key[static KEY_SIZE])
{
	const char *secret = jwt_secrets_get(r->api->secrets, 0);
	char network[CLIENT_IP_NETWORK_SIZE];
	char text[RATE_LIMIT_SUBJECT_MAX + sizeof(network) + 2];
	uint8_t digest[DIGEST_SIZE];
	char hex[2 * DIGEST_SIZE + 1];
	request_network(r, network);
	int len = snprintf(text, sizeof(text), "%s\n%s", account, network);
	digest_hmac_sha256(secret, strlen(secret), text, (size_t)len, digest);
	digest_hex(digest, sizeof(digest), hex);
	snprintf(key, KEY_SIZE, PREFIX "%s", hex);
}

bool known_network_is_known(struct request *r, const char *account)
{
	char key[KEY_SIZE];
	size_t len = 0;
	make_key(r, account, key);
	const struct redis_arg args[] = { REDIS_TEXT("GET"), REDIS_TEXT(key) };
	struct redis_reply *reply = NULL;
	bool is_known = redis_pool_call(r->api->redis, args, 2, &reply) == OK &&
	                redis_reply_bytes(reply, &len);
	redis_reply_free(reply);
	return is_known;
}

void known_network_remember(struct request *r, const char *account)
{
	char key[KEY_SIZE];
	make_key(r, account, key);
	const struct redis_arg args[] = { REDIS_TEXT("SET"), REDIS_TEXT(key), REDIS_TEXT("1"),
		                          REDIS_TEXT("EX"), REDIS_TEXT(KEPT_S) };
	enum err err = redis_pool_call(r->api->redis, args, 5, NULL);
	(void)err; /* the network stays unknown */
}
