#include "lib/http/http_logo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/digest.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"

#define VARIABLE "OPERATOR_LOGO_FILE"
#define FOLDER "/assets/logo-"
#define HASH_BYTES 8

struct http_logo {
	const char *type;
	size_t len;
	char path[sizeof(FOLDER) + (size_t)2 * HASH_BYTES];
	uint8_t bytes[HTTP_LOGO_BYTES_MAX + 1];
};

const char *http_logo_bitmap_type(const uint8_t *bytes, size_t len)
{
	static const struct {
		const char *type, *begin;
		size_t len;
	} types[] = { { "image/png", "\x89PNG\r\n\x1a\n", 8 },
		      { "image/jpeg", "\xff\xd8\xff", 3 },
		      { "image/webp", "RIFF", 4 } };
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (len < types[i].len || memcmp(bytes, types[i].begin, types[i].len) != 0)
			continue;
		if (i == 2 && (len < 12 || memcmp(bytes + 8, "WEBP", 4) != 0))
			return NULL;
		return types[i].type;
	}
	return NULL;
}

/* Text whose first element is svg, after a declaration, comments and a document type. */
static bool is_svg(const char *text, size_t len)
{
	if (!utf8_is_valid(text, len) || strlen(text) != len)
		return false;
	text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	for (;;) {
		text += strspn(text, " \t\r\n");
		bool is_comment = strncmp(text, "<!--", 4) == 0;
		if (!is_comment && strncmp(text, "<?", 2) != 0 && strncmp(text, "<!", 2) != 0)
			return strncmp(text, "<svg", 4) == 0 && strchr(" \t\r\n>", text[4]);
		const char *end = strstr(text, is_comment ? "-->" : ">");
		if (!end)
			return false;
		text = end + (is_comment ? 3 : 1);
	}
}

enum err http_logo_read(const char *path, struct strbuf *problems, struct http_logo **out)
{
	if (path[0] == '\0') {
		*out = NULL;
		return OK;
	}
	if (env_check_file(path, VARIABLE, problems) > 0)
		return ERR_INVALID;
	struct http_logo *logo = mem_zero(sizeof(*logo));
	FILE *file = fopen(path, "re");
	if (file) {
		logo->len = fread(logo->bytes, 1, sizeof(logo->bytes), file);
		fclose(file);
	}
	size_t wrong = env_expect(logo->len <= HTTP_LOGO_BYTES_MAX, VARIABLE,
	                          "must have at most 64 KiB", problems);
	if (wrong == 0) {
		logo->type = http_logo_bitmap_type(logo->bytes, logo->len);
		if (!logo->type && is_svg((const char *)logo->bytes, logo->len))
			logo->type = "image/svg+xml";
		wrong += env_expect(logo->type, VARIABLE, "must be a PNG, JPEG, WebP or SVG",
		                    problems);
	}
	if (wrong > 0) {
		http_logo_free(logo);
		return ERR_INVALID;
	}
	uint8_t digest[DIGEST_SIZE];
	digest_sha256(logo->bytes, logo->len, digest);
	memcpy(logo->path, FOLDER, strlen(FOLDER));
	digest_hex(digest, HASH_BYTES, logo->path + strlen(FOLDER));
	*out = logo;
	return OK;
}

void http_logo_free(struct http_logo *logo)
{
	free(logo);
}

size_t http_logo_check(const char *path, struct strbuf *problems)
{
	struct http_logo *logo = NULL;
	bool is_good = http_logo_read(path, problems, &logo) == OK;
	http_logo_free(logo);
	return is_good ? 0 : 1;
}

const char *http_logo_path(const struct http_logo *logo)
{
	return logo ? logo->path : "";
}

bool http_logo_respond(const struct http_logo *logo, struct http_exchange *x)
{
	if (!logo || strcmp(http_exchange_path(x), logo->path) != 0)
		return false;
	http_exchange_set_fixed_header(x, "Cache-Control", "public, max-age=31536000, immutable");
	http_exchange_set_fixed_header(x, "X-Content-Type-Options", "nosniff");
	/* Whoever opens an SVG as a document sees a picture: nothing in it runs or is loaded. */
	http_exchange_add_fixed_header(x, "Content-Security-Policy",
	                               "default-src 'none'; style-src 'unsafe-inline'; sandbox");
	http_exchange_set_fixed_body(x, logo->type, (const char *)logo->bytes, logo->len);
	return true;
}
