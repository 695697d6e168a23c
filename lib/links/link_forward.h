/*
 * Adds what a visitor typed behind a short link to its destination: the query (forward_query) and
 * the rest of the path (forward_path). Pure.
 *
 * Whatever the visitor sends, the scheme, the user, the host, the port and the fragment stay those
 * of the destination for every browser (WHATWG URL standard), the path stays below the
 * destination's, and the result is printable ASCII.
 *
 * - A parameter of the visitor replaces all of that name in the destination, as in Shlink and Dub.
 *   Names are compared decoded. The visitor's follow the destination's, in their order.
 * - "qr=1", which marks a scan, is not forwarded.
 * - Empty segments are left out: "/a//b" becomes "/a/b".
 * - Bytes that RFC 3986 does not have in a path or a query are escaped, as is a "%" that begins no
 *   escape. What was escaped stays as it was.
 * - The destination stays as it is if the rest has a segment that is "." or ".." to anybody (with
 *   escapes of escapes, overlong UTF-8, "\" or parameters behind ";") or a control byte, also escaped,
 *   if the visitor has more than 100 parameters, if the result is longer than
 *   LINK_FORWARD_BYTES_MAX, or if the destination is not of the form "scheme://…".
 */
#ifndef WAYMARK_LIB_LINKS_LINK_FORWARD_H
#define WAYMARK_LIB_LINKS_LINK_FORWARD_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/links/link.h"

#define LINK_FORWARD_BYTES_MAX (LINK_URL_MAX + 2048)

/*
 * Writes the URL to out, which is emptied before; its limit is at least LINK_FORWARD_BYTES_MAX.
 * destination: in normal form, at most LINK_URL_MAX bytes. query: raw, without "?"; "" = none. rest:
 * the raw path behind the slug from its slash on, "/a/b"; "" = none. Each of the two counts only if
 * it is to be forwarded.
 */
void link_forward_build(const char *destination, const char *query, const char *rest,
                        bool forward_query, bool forward_path, struct strbuf *out);

/* Whether a raw query has the parameter "qr=1" exactly, by which QR codes tell scans apart. */
bool link_forward_is_scan(const char *query);

#endif
