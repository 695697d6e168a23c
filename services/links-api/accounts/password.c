#include "services/links-api/accounts/password.h"

#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define COST 12
#define SALT_BYTES 16

/* A hash of cost 12 for which no password is known. */
static const char dummy_hash[] = "$2b$12$lfbwu2n2Xt/NuY6w9mPVWu24Ks2e2TqEP29IIlIdlfBca5sozpSxu";

static bool run_bcrypt(const char *password, const char *setting,
                       char out[static PASSWORD_HASH_SIZE])
{
	struct crypt_data *data = mem_zero(sizeof(*data));
	const char *hash = crypt_r(password, setting, data);
	bool is_valid = hash && strlen(hash) == PASSWORD_HASH_SIZE - 1;
	if (is_valid)
		memcpy(out, hash, PASSWORD_HASH_SIZE);
	explicit_bzero(data, sizeof(*data));
	free(data);
	return is_valid;
}

enum err password_hash(const char *password, char out[static PASSWORD_HASH_SIZE])
{
	char salt[SALT_BYTES];
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];
	entropy_fill(salt, sizeof(salt));
	if (!crypt_gensalt_rn("$2b$", COST, salt, sizeof(salt), setting, sizeof(setting)))
		return ERR_INTERNAL;
	return run_bcrypt(password, setting, out) ? OK : ERR_INTERNAL;
}

static bool equal_in_constant_time(const char *a, const char *b, size_t len)
{
	unsigned char different = 0;
	for (size_t i = 0; i < len; i++)
		different |= (unsigned char)(a[i] ^ b[i]);
	return different == 0;
}

bool password_matches(const char *password, const char *hash)
{
	const char *setting = hash ? hash : dummy_hash;
	char computed[PASSWORD_HASH_SIZE];
	if (!run_bcrypt(password, setting, computed) || strlen(setting) != PASSWORD_HASH_SIZE - 1)
		return false;
	bool same = equal_in_constant_time(computed, setting, PASSWORD_HASH_SIZE);
	return same && hash;
}
