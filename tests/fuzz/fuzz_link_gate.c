/*
 * What visitors send to the gate of a link: credentials, cookies, and the path behind which a form
 * leads. Credentials that were encoded are read again. No text but a made one is a cookie. A path
 * stays on this host and ends no attribute of a cookie.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/slug.h"
#include "services/redirector/gate/basic_auth.h"
#include "services/redirector/gate/link_cookie.h"

#define HASH "$2b$10$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"
#define TEXT_MAX 60

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void encode(const uint8_t *bytes, size_t len, char *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = 0;
	int count = 0;
	for (size_t i = 0; i < len; i++)
		for (bits = bits << 8 | bytes[i], count += 8; count >= 6; count -= 6)
			*out++ = digits[bits >> (count - 6) & 63];
	if (count > 0)
		*out++ = digits[bits << (6 - count) & 63];
	*out = '\0';
}

static void try_credentials(const char *text)
{
	char header[16 + 2 * TEXT_MAX] = "Basic ", sent[TEXT_MAX + 2], found[TEXT_MAX + 2];
	if (basic_auth_password(text, found, sizeof(found)) == OK)
		require(strlen(found) < sizeof(found) - 1);
	int len = snprintf(sent, sizeof(sent), ":%.*s", TEXT_MAX, text);
	if (len >= (int)sizeof(sent))
		len = sizeof(sent) - 1;
	encode((const uint8_t *)sent, (size_t)len, header + strlen(header));
	require(basic_auth_password(header, found, sizeof(found)) == OK);
	require(strcmp(found, sent + 1) == 0);
}

static void try_cookie(const char *text, size_t size)
{
	char made[LINK_COOKIE_SIZE];
	int64_t expires_s = (int64_t)size + 1;
	require(!link_cookie_is_valid(text, 7, HASH, 0));
	link_cookie_make(7, HASH, expires_s, made);
	require(link_cookie_is_valid(made, 7, HASH, expires_s - 1));
	require(!link_cookie_is_valid(made, 7, HASH, expires_s));
}

static void try_path(const char *text)
{
	struct slug_path found;
	struct strbuf path;
	const char *rest;
	bool is_followed = slug_of_path(text, &found) ||
	                   (slug_of_longer_path(text, &found) && !found.is_preview);
	if (!is_followed)
		return;
	strbuf_init(&path, 8192);
	link_cookie_add_path(&path, text, &rest);
	require(*rest == '\0' || *rest == '/');
	require(path.data[0] == '/' && path.len > 1 && path.data[1] != '/');
	require(strpbrk(path.data, "\\;, \t\r\n?#\"") == NULL);
	/* The link is found there as well. */
	struct slug_path again;
	require(slug_of_path(path.data, &again) && strcmp(again.slug, found.slug) == 0);
	strbuf_clear(&path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_text_n((const char *)data, size);
	try_credentials(text);
	try_cookie(text, size);
	try_path(text);
	free(text);
	return 0;
}
