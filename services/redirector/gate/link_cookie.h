/*
 * Pure. The cookie of a visitor who knew a link's password: until when it holds, and a signature.
 *
 *   1767225600.9b1f… (64 lower-case hexadecimal digits)
 *
 * The key of the signature comes from the hash of the password. So every redirector can verify the
 * cookie, it opens no other link, and it ends when the password changes, also to the same one.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_GATE_LINK_COOKIE_H
#define WAYMARK_SERVICES_REDIRECTOR_GATE_LINK_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/strbuf.h"

#define LINK_COOKIE_NAME "waymark_link"
#define LINK_COOKIE_MAX_AGE_S 3600
/* A time of 20 digits, a point and the signature. */
#define LINK_COOKIE_SIZE (20 + 1 + 2 * DIGEST_SIZE + 1)

/* expires_s: seconds since 1970-01-01T00:00:00Z. */
void link_cookie_make(int64_t link_id, const char *password_hash, int64_t expires_s,
                      char out[static LINK_COOKIE_SIZE]);

/* Whether value, which may be anything, is a cookie of this link and password that still holds. */
bool link_cookie_is_valid(const char *value, int64_t link_id, const char *password_hash,
                          int64_t now_s);

/*
 * Adds the path of a link as it was typed, to which the cookie belongs: "/r/abc" of
 * "//r/abc)/rest?". It begins with one slash and has nothing that ends a cookie's Path. path begins
 * with "/" and names a link. *rest: what follows the link's part of it, "" or from "/" on.
 */
void link_cookie_add_path(struct strbuf *out, const char *path, const char **rest);

#endif
