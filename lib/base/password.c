#include "lib/base/password.h"

#include <crypt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define SALT_BYTES 16

/* A hash without its cost, for which no password is known. */
#define DUMMY_HASH "$2b$%02d$lfbwu2n2Xt/NuY6w9mPVWu24Ks2e2TqEP29IIlIdlfBca5sozpSxu"

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

enum err password_hash(const char *password, int64_t cost, char out[static PASSWORD_HASH_SIZE])
{
	char salt[SALT_BYTES];
	char setting[CRYPT_GENSALT_OUTPUT_SIZE];
	entropy_fill(salt, sizeof(salt));
	if (!crypt_gensalt_rn("$2b$", (unsigned long)cost, salt, sizeof(salt), setting,
	                      sizeof(setting)))
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

bool password_matches(const char *password, const char *hash, int64_t cost)
{
	char dummy_hash[PASSWORD_HASH_SIZE];
	char computed[PASSWORD_HASH_SIZE];
	snprintf(dummy_hash, sizeof(dummy_hash), DUMMY_HASH, (int)cost);
	const char *setting = hash ? hash : dummy_hash;
	if (!run_bcrypt(password, setting, computed) || strlen(setting) != PASSWORD_HASH_SIZE - 1)
		return false;
	bool same = equal_in_constant_time(computed, setting, PASSWORD_HASH_SIZE);
	return same && hash;
}
