/*
 * Pure. JWT_SECRET: one secret, or several separated by commas or line ends. The first signs, all verify: a new secret
 * goes before the old one, and the old one goes when the last token that it signed has run out.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_SECRET_LIST_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_SECRET_LIST_H

#include <stddef.h>

#include "lib/base/err.h"

#define SECRET_LIST_MAX 8
#define SECRET_LIST_BYTES_MAX 4096
#define SECRET_LIST_EACH_BYTES_MIN 32

struct secret_list {
	size_t count;
	size_t at[SECRET_LIST_MAX];
	char text[SECRET_LIST_BYTES_MAX + 1];
};

/* Empty ones are passed over. ERR_INVALID: there is none, one that is too short, or more than SECRET_LIST_MAX. */
enum err secret_list_parse(const char *text, struct secret_list *out) MUST_CHECK;

const char *secret_list_get(const struct secret_list *list, size_t index);

#endif
