#include "lib/http/http_accept.h"

#include <string.h>
#include <strings.h>

#define WEIGHT_LEN_MAX 5 /* "0.123" */

static size_t trimmed_len(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	return len;
}

/* "0.8" is 800. */
static int parse_weight(const char *text, size_t len)
{
	if (len == 0 || len > WEIGHT_LEN_MAX || (text[0] != '0' && text[0] != '1') ||
	    (len > 1 && text[1] != '.'))
		return HTTP_ACCEPT_WEIGHT_INVALID;
	int weight = (text[0] - '0') * HTTP_ACCEPT_WEIGHT_MAX;
	int digit_worth = HTTP_ACCEPT_WEIGHT_MAX / 10;
	for (size_t i = 2; i < len; i++, digit_worth /= 10) {
		if (text[i] < '0' || text[i] > '9')
			return HTTP_ACCEPT_WEIGHT_INVALID;
		weight += (text[i] - '0') * digit_worth;
	}
	return weight <= HTTP_ACCEPT_WEIGHT_MAX ? weight : HTTP_ACCEPT_WEIGHT_INVALID;
}

/* The weight of parameters such as ";level=1; q=0.8". */
static int find_weight(const char *parameters, const char *end)
{
	for (const char *at = parameters; at < end; at += strcspn(at, ";,")) {
		at += 1 + strspn(at + 1, " \t");
		if (end - at >= 2 && strncasecmp(at, "q=", 2) == 0)
			return parse_weight(at + 2, trimmed_len(at + 2, strcspn(at + 2, ";,")));
	}
	return HTTP_ACCEPT_WEIGHT_MAX;
}

bool http_accept_next(const char **list, struct http_accept_item *item)
{
	const char *name = *list + strspn(*list, ", \t");
	const char *end = name + strcspn(name, ",");
	const char *parameters = name + strcspn(name, ";,");
	*list = end;
	if (name == end)
		return false;
	*item = (struct http_accept_item){
		.name = name,
		.len = trimmed_len(name, (size_t)(parameters - name)),
		.weight = find_weight(parameters, end),
	};
	return true;
}

bool http_accept_is(const struct http_accept_item *item, const char *text)
{
	return item->len == strlen(text) && strncasecmp(item->name, text, item->len) == 0;
}
