/*
 * One thread at a time. TLS over a connected socket that does not block (OpenSSL, TLS 1.2 or
 * later). hiredis 0.14 has none, and that of later versions does not compare the name in the
 * server's certificate.
 *
 * A step returns OK, ERR_LIMIT (the socket is not ready: wait for *wanted, events of poll, and
 * repeat it), or ERR_UNAVAILABLE: the connection can only be closed, and redis_tls_message says
 * why.
 */
#ifndef WAYMARK_LIB_REDIS_REDIS_TLS_H
#define WAYMARK_LIB_REDIS_REDIS_TLS_H

#include <stddef.h>

#include "lib/base/env.h"
#include "lib/base/err.h"

/* A read gets a whole record, so that poll sees all that is left. */
#define REDIS_TLS_READ_SIZE 16384

struct redis_tls;

/*
 * The certificate must be one of host, a name or an address, by an authority of ca_file (PEM; NULL
 * or "": those of the system). Borrows fd. A ca_file that cannot be read makes the handshake fail.
 */
struct redis_tls *redis_tls_new(const char *ca_file, const char *host, int fd);
void redis_tls_free(struct redis_tls *tls);

enum err redis_tls_handshake(struct redis_tls *tls, short *wanted) MUST_CHECK;
/* *written: at least one byte of len. */
enum err redis_tls_write(struct redis_tls *tls, const char *bytes, size_t len,
                         size_t *written) MUST_CHECK;
enum err redis_tls_read(struct redis_tls *tls, char bytes[static REDIS_TLS_READ_SIZE],
                        size_t *len) MUST_CHECK;
const char *redis_tls_message(const struct redis_tls *tls);

/*
 * For the variable REDIS_SSL_CA_FILE beside REDIS_URL: returns the number of problems and appends
 * a line for each to problems.
 */
size_t redis_tls_check(const char *url, const char *ca_file, struct strbuf *problems);

#endif
