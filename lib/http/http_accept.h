/*
 * Pure. Iterates over a list with weights, as in Accept and Accept-Language (RFC 9110, 12.4.2):
 *
 *   const char *at = "de-AT, en;q=0.8";
 *   struct http_accept_item item;
 *   while (http_accept_next(&at, &item))
 *           ...                           // "de-AT" 1000, then "en" 800
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_ACCEPT_H
#define WAYMARK_LIB_HTTP_HTTP_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_ACCEPT_WEIGHT_MAX 1000
#define HTTP_ACCEPT_WEIGHT_INVALID (-1)

struct http_accept_item {
	/* Borrowed from the list; without parameters and outer white space. */
	const char *name;
	size_t len;
	/* In thousandths; 1000 without q, HTTP_ACCEPT_WEIGHT_INVALID if q is malformed. */
	int weight;
};

/* Reads the next item that is not empty and moves *list past it. False: there is none. */
bool http_accept_next(const char **list, struct http_accept_item *item);

/* Whether the name of item is text, ignoring case. */
bool http_accept_is(const struct http_accept_item *item, const char *text);

#endif
