#include "services/redirector/gate/link_cookie.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"

#define KEY_PREFIX "waymark link cookie"

void link_cookie_make(int64_t link_id, const char *password_hash, int64_t expires_s,
                      char out[static LINK_COOKIE_SIZE])
{
	char text[128];
	uint8_t key[DIGEST_SIZE], signature[DIGEST_SIZE];
	int len = snprintf(text, sizeof(text), KEY_PREFIX "%s", password_hash);
	digest_sha256(text, (size_t)len, key);
	len = snprintf(text, sizeof(text), "%lld.%lld", (long long)link_id, (long long)expires_s);
	digest_hmac_sha256(key, sizeof(key), text, (size_t)len, signature);
	len = snprintf(out, LINK_COOKIE_SIZE, "%lld.", (long long)expires_s);
	digest_hex(signature, sizeof(signature), out + len);
}

/* Takes as long for each wrong text of the same length. */
static bool is_same_text(const char *a, const char *b)
{
	uint8_t digest_of_a[DIGEST_SIZE], digest_of_b[DIGEST_SIZE];
	digest_sha256(a, strlen(a), digest_of_a);
	digest_sha256(b, strlen(b), digest_of_b);
	return digest_equal(digest_of_a, digest_of_b);
}

bool link_cookie_is_valid(const char *value, int64_t link_id, const char *password_hash,
                          int64_t now_s)
{
	char expires[LINK_COOKIE_SIZE], made[LINK_COOKIE_SIZE];
	int64_t expires_s;
	size_t digits = strcspn(value, ".");
	if (digits >= sizeof(expires) || strnlen(value, LINK_COOKIE_SIZE) == LINK_COOKIE_SIZE)
		return false;
	memcpy(expires, value, digits);
	expires[digits] = '\0';
	if (number_parse(expires, now_s + 1, INT64_MAX, &expires_s) != OK)
		return false;
	/* Made again and compared whole, a cookie has one spelling. */
	link_cookie_make(link_id, password_hash, expires_s, made);
	return is_same_text(value, made);
}

void link_cookie_add_path(struct strbuf *out, const char *path, const char **rest)
{
	const char *name = path + strspn(path, "/");
	const char *end = strncmp(name, "r/", 2) == 0 ? name + 2 + strspn(name + 2, "/") : name;
	size_t len = strcspn(end, "/");
	*rest = end + len;
	end += strspn(end, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%");
	if (end > *rest)
		end = *rest;
	strbuf_add_char(out, '/');
	strbuf_add(out, name, (size_t)(end - name));
}
