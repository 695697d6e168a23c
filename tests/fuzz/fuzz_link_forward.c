/*
 * Queries and paths from anywhere: the first byte chooses the destination, the first NUL after it
 * ends the query, and the next one the path. Whatever they are, what says where a browser goes stays
 * that of the destination, the path stays below its own, and the result is a header's value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/url.h"
#include "lib/links/link_forward.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DECODED_MAX 6

static const char *const destinations[] = {
	"https://a.example/",
	"https://a.example",
	"https://a.example:8443/x/y?k=v#f",
	"http://a.example/x/?a&b=%20",
	"https://[2001:db8::1]/?#",
	"shop://items/7",
	"shop://",
	"https://a.example/x#/?y",
	"mailto:a@a.example",
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_same(struct url_part a, struct url_part b)
{
	require(!a.text == !b.text && a.len == b.len &&
	        (!a.text || memcmp(a.text, b.text, a.len) == 0));
}

static bool is_dots(const char *segment, size_t len)
{
	len = memchr(segment, ';', len) ? strcspn(segment, ";") : len;
	return (len == 1 && segment[0] == '.') || (len == 2 && memcmp(segment, "..", 2) == 0);
}

/* However often somebody decodes it. */
static void require_no_dots(struct url_part path)
{
	char *text = mem_text_n(path.text, path.len);
	for (int times = 0; times < DECODED_MAX; times++) {
		for (size_t at = 0, len; text[at] != '\0'; at += len + (text[at + len] != '\0')) {
			len = strcspn(text + at, "/\\");
			require(!is_dots(text + at, len));
		}
		size_t kept = 0, len = strlen(text);
		for (size_t at = 0; at < len;) {
			size_t next = at;
			int c = url_decode_next(text, len, &next);
			require(c != 0);
			text[kept++] = (char)(c < 0 ? text[at] : c);
			at = c < 0 ? at + 1 : next;
		}
		text[kept] = '\0';
	}
	free(text);
}

static void require_below(const struct url *result, const struct url *destination)
{
	struct url_part own = destination->path;
	require(result->path.len >= own.len && memcmp(result->path.text, own.text, own.len) == 0);
	if (result->path.len > own.len && own.len > 0 && own.text[own.len - 1] != '/')
		require(result->path.text[own.len] == '/');
	require_no_dots(result->path);
}

static void try_forward(const char *destination, const char *query, const char *rest)
{
	struct strbuf out;
	struct url url, result;
	strbuf_init(&out, LINK_FORWARD_BYTES_MAX);
	link_forward_build(destination, query, rest, true, true, &out);
	require(strbuf_status(&out) == OK);
	for (size_t i = 0; i < out.len; i++)
		require(out.data[i] > ' ' && out.data[i] < 0x7f && out.data[i] != '\\');
	if (url_split(destination, strlen(destination), &url) == OK) {
		require(url_split(out.data, out.len, &result) == OK);
		require_same(result.scheme, url.scheme);
		require_same(result.user, url.user);
		require_same(result.host, url.host);
		require_same(result.port, url.port);
		require_same(result.fragment, url.fragment);
		require_below(&result, &url);
	} else {
		require(strcmp(out.data, destination) == 0);
	}
	strbuf_clear(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	char *query = mem_text_n((const char *)data + 1, size - 1);
	size_t query_len = strlen(query);
	const char *rest = query_len + 1 < size ? query + query_len + 1 : "";
	try_forward(destinations[data[0] % ARRAY_SIZE(destinations)], query, rest);
	(void)link_forward_is_scan(query);
	free(query);
	return 0;
}
