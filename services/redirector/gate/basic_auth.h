/* Pure. The password in an Authorization header of the scheme Basic (RFC 7617). */
#ifndef WAYMARK_SERVICES_REDIRECTOR_GATE_BASIC_AUTH_H
#define WAYMARK_SERVICES_REDIRECTOR_GATE_BASIC_AUTH_H

#include <stddef.h>

#include "lib/base/err.h"

/*
 * The text after the first colon of the decoded credentials. ERR_INVALID: another scheme, not
 * base64, no colon, or a NUL. ERR_LIMIT: the credentials are longer than size; out may hold a part
 * then.
 */
enum err basic_auth_password(const char *header, char *out, size_t size) MUST_CHECK;

#endif
