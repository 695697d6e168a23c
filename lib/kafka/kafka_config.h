/*
 * The settings with which a Kafka client reaches the brokers. Part of each service's
 * configuration. One thread at a time, before other threads start.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_CONFIG_H
#define WAYMARK_LIB_KAFKA_KAFKA_CONFIG_H

#include <stddef.h>

#include "lib/base/strbuf.h"

#define KAFKA_OAUTHBEARER "OAUTHBEARER"
#define KAFKA_CONFIG_NAME_MAX 249 /* bytes of the name of a topic */

struct kafka_config {
	char brokers[512];
	/* "" (plaintext), ssl, sasl_plaintext or sasl_ssl. */
	char security_protocol[32];
	char sasl_mechanism[32];
	/* For OAUTHBEARER the client's id and secret at its provider. */
	char sasl_username[128];
	char sasl_password[1025];
	/* Of OAUTHBEARER; the scope may be "". */
	char sasl_token_url[512];
	char sasl_scope[256];
	char ssl_ca_file[256];
	/* The client's own, and its key; both "" = none. */
	char ssl_certificate_file[256];
	char ssl_key_file[256];
	char client_id[64];
};

/*
 * Checks what KAFKA_CONFIG_VARS has read. Returns the number of problems, and appends one line for
 * each to problems. Connects nowhere.
 */
size_t kafka_config_check(const struct kafka_config *config, struct strbuf *problems);

/* Checks that text, the value of the variable name, can be the name of a topic or group. */
size_t kafka_config_check_name(const char *text, const char *name, struct strbuf *problems);

/*
 * Rows of a service's table of environment variables. type: the service's struct; member: its
 * struct kafka_config.
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): a member's name cannot have parentheses */
#define KAFKA_CONFIG_VARS(type, member)                                                            \
	ENV_TEXT("KAFKA_BROKERS", type, member.brokers, NULL,                                      \
	         "Kafka bootstrap servers, host:port,host:port"),                                  \
		ENV_TEXT("KAFKA_SECURITY_PROTOCOL", type, member.security_protocol, "",            \
	                 "plaintext (default), ssl, sasl_plaintext or sasl_ssl"),                  \
		ENV_TEXT("KAFKA_SASL_MECHANISM", type, member.sasl_mechanism, "",                  \
	                 "SCRAM-SHA-512, SCRAM-SHA-256, PLAIN or OAUTHBEARER"),                    \
		ENV_TEXT("KAFKA_SASL_USERNAME", type, member.sasl_username, "",                    \
	                 "SASL user; for OAUTHBEARER the client's id"),                            \
		ENV_SECRET("KAFKA_SASL_PASSWORD", type, member.sasl_password, "", 0,               \
	                   "SASL password; for OAUTHBEARER the client's secret"),                  \
		ENV_TEXT("KAFKA_SASL_TOKEN_URL", type, member.sasl_token_url, "",                  \
	                 "where OAUTHBEARER gets its tokens (OAuth 2.0 client credentials)"),      \
		ENV_TEXT("KAFKA_SASL_SCOPE", type, member.sasl_scope, "",                          \
	                 "scope of these tokens; empty = the provider's default"),                 \
		ENV_TEXT("KAFKA_SSL_CA_FILE", type, member.ssl_ca_file, "",                        \
	                 "CA certificates (PEM) that sign the brokers"),                           \
		ENV_TEXT("KAFKA_SSL_CERTIFICATE_FILE", type, member.ssl_certificate_file, "",      \
	                 "certificate (PEM) by which brokers know this service"),                  \
		ENV_TEXT("KAFKA_SSL_KEY_FILE", type, member.ssl_key_file, "",                      \
	                 "its key (PEM, without a password)")
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
