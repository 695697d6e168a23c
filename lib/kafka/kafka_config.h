/*
 * Pure. The settings with which a Kafka client reaches the brokers. Part of each service's
 * configuration.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_CONFIG_H
#define WAYMARK_LIB_KAFKA_KAFKA_CONFIG_H

struct kafka_config {
	char brokers[512];
	char security_protocol[32]; /* "" (plaintext), ssl, sasl_plaintext or sasl_ssl */
	char sasl_mechanism[32];
	char sasl_username[128];
	char sasl_password[256];
	char ssl_ca_file[256];
	char client_id[64];
};

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
	                 "SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN"),                                 \
		ENV_TEXT("KAFKA_SASL_USERNAME", type, member.sasl_username, "", "SASL user"),      \
		ENV_SECRET("KAFKA_SASL_PASSWORD", type, member.sasl_password, "", 0,               \
	                   "SASL password"),                                                       \
		ENV_TEXT("KAFKA_SSL_CA_FILE", type, member.ssl_ca_file, "",                        \
	                 "CA certificates (PEM) that sign the brokers")
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
