/*
 * Safe from any thread after http_logo_read. The operator's logo on pages for visitors
 * (OPERATOR_LOGO_FILE), read once and served from the origin of the page, at a path that changes with
 * its content.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_LOGO_H
#define WAYMARK_LIB_HTTP_HTTP_LOGO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/http/http_server.h"

#define HTTP_LOGO_BYTES_MAX ((size_t)64 * 1024)
#define HTTP_LOGO_FILE_SIZE 1024

/* For the table of variables of a service. */
#define HTTP_LOGO_VAR(type_)                                                                        \
	ENV_TEXT(                                                                                   \
		"OPERATOR_LOGO_FILE", type_, operator_logo_file, "",                                \
		"PNG, JPEG, WebP or SVG of at most 64 KiB, beside the name on pages for visitors; " \
		"empty = the mark of Waymark")

struct http_logo;

/*
 * path "": *out is NULL. ERR_INVALID: the file cannot be read, is larger than HTTP_LOGO_BYTES_MAX or
 * is none of the pictures; problems has a line "OPERATOR_LOGO_FILE: …".
 */
enum err http_logo_read(const char *path, struct strbuf *problems,
                        struct http_logo **out) MUST_CHECK;
/* Not before the server that sends it has stopped. NULL is allowed. */
void http_logo_free(struct http_logo *logo);

/* For the check of a service: the number of problems, 0 or 1. */
size_t http_logo_check(const char *path, struct strbuf *problems);

/* "/assets/logo-0123456789abcdef"; "" for NULL. No slug is "assets". */
const char *http_logo_path(const struct http_logo *logo);
/* Completes x, a GET or HEAD, with the logo: 200. False: its path is another one, or logo is NULL. */
bool http_logo_respond(const struct http_logo *logo, struct http_exchange *x);

/* "image/png", "image/jpeg" or "image/webp", by the first bytes; NULL: none of them. */
const char *http_logo_bitmap_type(const uint8_t *bytes, size_t len);

#endif
