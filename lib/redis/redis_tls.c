#include "lib/redis/redis_tls.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "lib/base/mem.h"
#include "lib/redis/redis_url.h"

struct redis_tls {
	SSL *ssl;
	char message[128];
};

static bool is_address(const char *host)
{
	struct in6_addr address;
	return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1;
}

static bool expect_host(SSL *ssl, const char *host)
{
	if (is_address(host))
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct redis_tls *redis_tls_new(const char *ca_file, const char *host, int fd)
{
	struct redis_tls *tls = mem_zero(sizeof(*tls));
	/* Each connection reads the file, so that a new authority needs no restart. */
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	if (!context)
		abort(); /* out of memory */
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	/* An authority that is not loaded makes the verification fail, which says so. */
	if (ca_file && ca_file[0])
		(void)SSL_CTX_load_verify_file(context, ca_file);
	else
		(void)SSL_CTX_set_default_verify_paths(context);
	tls->ssl = SSL_new(context);
	SSL_CTX_free(context);
	if (!tls->ssl || SSL_set_fd(tls->ssl, fd) != 1 || !expect_host(tls->ssl, host))
		abort(); /* out of memory */
	/* The bytes that are left move when more follow. */
	SSL_set_mode(tls->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_set_connect_state(tls->ssl);
	return tls;
}

void redis_tls_free(struct redis_tls *tls)
{
	if (!tls)
		return;
	SSL_free(tls->ssl);
	free(tls);
}

/* The reason of a failed step, of which the certificate's is the better one. */
static enum err fail(struct redis_tls *tls)
{
	long verified = SSL_get_verify_result(tls->ssl);
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());
	if (verified != X509_V_OK)
		snprintf(tls->message, sizeof(tls->message), "certificate verify failed: %s",
		         X509_verify_cert_error_string(verified));
	else
		snprintf(tls->message, sizeof(tls->message), "TLS: %s",
		         reason ? reason : "Server closed the connection");
	return ERR_UNAVAILABLE;
}

static enum err result_of(struct redis_tls *tls, int done, short *wanted)
{
	switch (done == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, done)) {
	case SSL_ERROR_NONE:
		return OK;
	case SSL_ERROR_WANT_READ:
		*wanted = POLLIN;
		return ERR_LIMIT;
	case SSL_ERROR_WANT_WRITE:
		*wanted = POLLOUT;
		return ERR_LIMIT;
	default:
		return fail(tls);
	}
}

enum err redis_tls_handshake(struct redis_tls *tls, short *wanted)
{
	ERR_clear_error(); /* which SSL_get_error reads */
	return result_of(tls, SSL_do_handshake(tls->ssl), wanted);
}

enum err redis_tls_write(struct redis_tls *tls, const char *bytes, size_t len, size_t *written)
{
	short wanted;
	ERR_clear_error();
	return result_of(tls, SSL_write_ex(tls->ssl, bytes, len, written), &wanted);
}

enum err redis_tls_read(struct redis_tls *tls, char bytes[static REDIS_TLS_READ_SIZE], size_t *len)
{
	short wanted;
	ERR_clear_error();
	return result_of(tls, SSL_read_ex(tls->ssl, bytes, REDIS_TLS_READ_SIZE, len), &wanted);
}

const char *redis_tls_message(const struct redis_tls *tls)
{
	return tls->message;
}

static bool has_authorities(const char *path)
{
	X509_STORE *store = X509_STORE_new();
	if (!store)
		abort(); /* out of memory */
	bool has = X509_STORE_load_file(store, path) == 1;
	X509_STORE_free(store);
	return has;
}

size_t redis_tls_check(const char *url, const char *ca_file, struct strbuf *problems)
{
	static const char name[] = "REDIS_SSL_CA_FILE";
	struct redis_url parsed;
	if (ca_file[0] == '\0' || redis_url_parse(url, &parsed) != OK)
		return 0;
	if (!parsed.is_tls)
		return env_expect(false, name, "is not used: REDIS_URL must begin with rediss://",
		                  problems);
	size_t wrong = env_check_file(ca_file, name, problems);
	if (wrong == 0 && !has_authorities(ca_file))
		wrong += env_check_reject(name, ca_file, strlen(ca_file), "has no PEM certificates",
		                          problems);
	return wrong;
}
