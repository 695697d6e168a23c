#include "lib/kafka/kafka_config.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/env.h"

#define ERROR_TEXT_SIZE 512

static bool is_broker(const char *text, size_t len)
{
	size_t host = env_check_host_len(text);
	if (host == 0 || host > len)
		return false;
	return host < len && text[host] == ':' &&
	       env_check_is_port(text + host + 1, len - host - 1);
}

static size_t check_brokers(const char *brokers, struct strbuf *problems)
{
	for (const char *at = brokers;; at++) {
		size_t len = strcspn(at, ",");
		if (!is_broker(at, len))
			return env_check_reject("KAFKA_BROKERS", at, len,
			                        "is not host:port: write host:port,host:port",
			                        problems);
		at += len;
		if (*at == '\0')
			return 0;
	}
}

static size_t check_login(const struct kafka_config *config, bool uses_sasl,
                          struct strbuf *problems)
{
	const char *mechanism = config->sasl_mechanism;
	size_t wrong = 0;
	if (mechanism[0])
		wrong += env_check_one_of(mechanism,
		                          "SCRAM-SHA-512, SCRAM-SHA-256, PLAIN, OAUTHBEARER", false,
		                          "KAFKA_SASL_MECHANISM", problems);
	const struct {
		const char *name;
		const char *value;
	} parts[] = { { "KAFKA_SASL_MECHANISM", mechanism },
		      { "KAFKA_SASL_USERNAME", config->sasl_username },
		      { "KAFKA_SASL_PASSWORD", config->sasl_password } };
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		bool is_set = parts[i].value[0] != '\0';
		wrong += env_expect(is_set || !uses_sasl, parts[i].name,
		                    "is required by KAFKA_SECURITY_PROTOCOL sasl_ssl and "
		                    "sasl_plaintext",
		                    problems);
		wrong += env_expect(!is_set || uses_sasl, parts[i].name,
		                    "is not used: KAFKA_SECURITY_PROTOCOL must be sasl_ssl or "
		                    "sasl_plaintext",
		                    problems);
	}
	return wrong;
}

/* A build without libcurl may claim the feature, but refuses this. */
static bool can_fetch_tokens(void)
{
	char why[ERROR_TEXT_SIZE];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_res_t result =
		rd_kafka_conf_set(conf, "sasl.oauthbearer.method", "oidc", why, sizeof(why));
	rd_kafka_conf_destroy(conf);
	return result == RD_KAFKA_CONF_OK;
}

static size_t check_tokens(const struct kafka_config *config, struct strbuf *problems)
{
	static const char name[] = "KAFKA_SASL_TOKEN_URL", mechanism[] = "KAFKA_SASL_MECHANISM";
	const char *url = config->sasl_token_url;
	if (strcmp(config->sasl_mechanism, KAFKA_OAUTHBEARER) != 0) {
		static const char unused[] =
			"is not used: KAFKA_SASL_MECHANISM must be OAUTHBEARER";
		return env_expect(!url[0], name, unused, problems) +
		       env_expect(!config->sasl_scope[0], "KAFKA_SASL_SCOPE", unused, problems);
	}
	if (!can_fetch_tokens())
		return env_check_reject(mechanism, KAFKA_OAUTHBEARER, strlen(KAFKA_OAUTHBEARER),
		                        "needs a librdkafka with libcurl, as on Debian 13",
		                        problems);
	if (!url[0])
		return env_expect(false, name, "is required by KAFKA_SASL_MECHANISM OAUTHBEARER",
		                  problems);
	return env_check_http_url(url, name, problems);
}

/* Whether OpenSSL accepts the files, as librdkafka will at the start. NULL as second: one file. */
static bool is_accepted(const char *setting, const char *path, const char *second,
                        const char *second_path)
{
	char why[ERROR_TEXT_SIZE];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_log_cb(conf, NULL);
	if (rd_kafka_conf_set(conf, "security.protocol", "ssl", why, sizeof(why)) ==
	            RD_KAFKA_CONF_OK &&
	    rd_kafka_conf_set(conf, setting, path, why, sizeof(why)) == RD_KAFKA_CONF_OK &&
	    (!second ||
	     rd_kafka_conf_set(conf, second, second_path, why, sizeof(why)) == RD_KAFKA_CONF_OK)) {
		/* Without brokers it connects nowhere. */
		rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
		if (client) {
			rd_kafka_destroy(client);
			return true;
		}
	}
	rd_kafka_conf_destroy(conf);
	return false;
}

static size_t check_use(const char *path, const char *name, bool uses_ssl, struct strbuf *problems)
{
	if (path[0] == '\0')
		return 0;
	if (!uses_ssl)
		return env_expect(false, name,
		                  "is not used: KAFKA_SECURITY_PROTOCOL must be ssl or sasl_ssl",
		                  problems);
	return env_check_file(path, name, problems);
}

static size_t check_authority(const char *path, bool uses_ssl, struct strbuf *problems)
{
	static const char name[] = "KAFKA_SSL_CA_FILE";
	size_t wrong = check_use(path, name, uses_ssl, problems);
	if (path[0] && wrong == 0 && !is_accepted("ssl.ca.location", path, NULL, NULL))
		wrong += env_check_reject(name, path, strlen(path), "has no PEM certificates",
		                          problems);
	return wrong;
}

static size_t check_certificate(const struct kafka_config *config, bool uses_ssl,
                                struct strbuf *problems)
{
	static const char name[] = "KAFKA_SSL_CERTIFICATE_FILE", key_name[] = "KAFKA_SSL_KEY_FILE";
	const char *path = config->ssl_certificate_file, *key = config->ssl_key_file;
	size_t wrong = check_use(path, name, uses_ssl, problems);
	wrong += check_use(key, key_name, uses_ssl, problems);
	wrong +=
		env_expect(path[0] || !key[0], name, "is required by KAFKA_SSL_KEY_FILE", problems);
	wrong += env_expect(key[0] || !path[0], key_name,
	                    "is required by KAFKA_SSL_CERTIFICATE_FILE", problems);
	if (path[0] && wrong == 0 &&
	    !is_accepted("ssl.certificate.location", path, "ssl.key.location", key))
		wrong += env_check_reject(name, path, strlen(path),
		                          "and KAFKA_SSL_KEY_FILE are no PEM certificate and its "
		                          "key without a password",
		                          problems);
	return wrong;
}

size_t kafka_config_check(const struct kafka_config *config, struct strbuf *problems)
{
	/* In any case: SASL_SSL is the form of Kafka's documents, and librdkafka takes both. */
	const char *protocol = config->security_protocol;
	size_t wrong = check_brokers(config->brokers, problems);
	if (protocol[0] && env_check_one_of(protocol, "plaintext, ssl, sasl_plaintext, sasl_ssl",
	                                    true, "KAFKA_SECURITY_PROTOCOL", problems) > 0)
		return wrong + 1;
	wrong += check_login(config, strncasecmp(protocol, "sasl", 4) == 0, problems);
	wrong += check_tokens(config, problems);
	bool uses_ssl = strcasestr(protocol, "ssl") != NULL;
	return wrong + check_authority(config->ssl_ca_file, uses_ssl, problems) +
	       check_certificate(config, uses_ssl, problems);
}

size_t kafka_config_check_name(const char *text, const char *name, struct strbuf *problems)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	if (text[strspn(text, allowed)] == '\0' && strlen(text) <= KAFKA_CONFIG_NAME_MAX &&
	    strcmp(text, ".") != 0 && strcmp(text, "..") != 0)
		return 0;
	return env_check_reject(name, text, strlen(text),
	                        "must be at most 249 letters, digits, '.', '_' and '-'", problems);
}
