#include "lib/http/http_request_id.h"

#include <stddef.h>

#include "lib/base/entropy.h"

void http_request_id_init(struct http_request_id_source *source)
{
	*source = (struct http_request_id_source){ 0 };
	entropy_fill(&source->seed, sizeof(source->seed));
	entropy_fill(&source->origin, sizeof(source->origin));
}

static void put_hex(uint64_t number, int digits, char *out)
{
	for (int i = digits - 1; i >= 0; i--, number >>= 4)
		out[i] = "0123456789abcdef"[number & 15];
}

void http_request_id_next(struct http_request_id_source *source,
                          char out[static HTTP_REQUEST_ID_LEN + 1])
{
	put_hex(source->origin, 8, out);
	put_hex(entropy_mix(source->seed + source->count++), 16, out + 8);
	out[HTTP_REQUEST_ID_LEN] = '\0';
}

static bool is_id_character(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '.' || c == '_' || c == '-';
}

bool http_request_id_is_valid(const char *text)
{
	size_t len = 0;
	while (len <= HTTP_REQUEST_ID_LEN_MAX && is_id_character(text[len]))
		len++;
	return len > 0 && len <= HTTP_REQUEST_ID_LEN_MAX && text[len] == '\0';
}
