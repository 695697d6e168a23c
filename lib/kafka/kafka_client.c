#include "lib/kafka/kafka_client.h"

#include "lib/base/array.h"

#define ERROR_TEXT_SIZE 512
#define RESPONSE_MAX_US 5000000
/* Longer than a broker holds a fetch that finds nothing (500 ms). */
#define RESPONSE_OVERDUE_US 1500000
/* A level of syslog(3). Its header is not included, because it redefines LOG_DEBUG. */
#define SYSLOG_CRITICAL 2

/* librdkafka logs every attempt to reconnect, so its lines have debug level. */
static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *line)
{
	const struct kafka_client *client = rd_kafka_opaque(rk);
	if (!client)
		return;
	LOG_AT(client->log, level <= SYSLOG_CRITICAL ? LOG_ERROR : LOG_DEBUG, "kafka_library",
	       LOG_TEXT("facility", facility), LOG_TEXT("message", line));
}

void kafka_client_set_reachable(struct kafka_client *client)
{
	if (atomic_load_explicit(&client->reachable, memory_order_relaxed))
		return;
	atomic_store(&client->reachable, true);
	atomic_store(&client->login_error_logged, RD_KAFKA_RESP_ERR_NO_ERROR);
	metrics_set(client->reachable_gauge, 1);
	if (atomic_exchange(&client->outage_logged, false))
		log_info(client->log, "kafka_reachable_again");
}

static void set_unreachable(struct kafka_client *client)
{
	atomic_store(&client->reachable, false);
	metrics_set(client->reachable_gauge, 0);
}

/* The number behind the first name at or after from, in librdkafka's statistics. 0: none. */
static int64_t number_after(const char *from, const char *name)
{
	const char *at = strstr(from, name);
	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

/*
 * In the statistics only brokers have a state in capitals. A frozen broker stays UP until its
 * requests time out, which may take a minute. It shows earlier: requests wait, and nothing has
 * arrived for a while.
 */
static void find_overdue_brokers(const char *json, bool *any_responds, bool *any_overdue)
{
	static const char up[] = "\"state\":\"UP\"";
	for (const char *at = strstr(json, up); at; at = strstr(at + 1, up)) {
		bool is_waiting = number_after(at, "\"waitresp_cnt\":") > 0;
		int64_t idle_us = number_after(at, "\"rxidle\":");
		*any_responds = *any_responds || !is_waiting || idle_us < RESPONSE_MAX_US;
		*any_overdue = *any_overdue || (is_waiting && idle_us >= RESPONSE_OVERDUE_US);
	}
}

static int on_stats(rd_kafka_t *rk, char *json, size_t len, void *opaque)
{
	(void)rk;
	(void)len;
	struct kafka_client *client = opaque;
	bool responds = false;
	bool is_overdue = false;
	find_overdue_brokers(json, &responds, &is_overdue);
	atomic_store(&client->overdue, is_overdue);
	if (responds)
		kafka_client_set_reachable(client);
	else
		set_unreachable(client);
	return 0;
}

/* The broker rejects our login. An operator must act, so each kind of failure is logged once. */
static void log_login_error(struct kafka_client *client, int code, const char *event,
                            const char *reason)
{
	if (atomic_exchange(&client->login_error_logged, code) != code)
		log_error(client->log, event, LOG_TEXT("message", reason));
}

static void set_outage(struct kafka_client *client, const char *reason)
{
	set_unreachable(client);
	if (!atomic_exchange(&client->outage_logged, true))
		log_warning(client->log, "kafka_unreachable", LOG_TEXT("message", reason),
		            LOG_TEXT_IF("last", client->last_error));
}

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque)
{
	(void)rk;
	struct kafka_client *client = opaque;
	switch (code) {
	case RD_KAFKA_RESP_ERR__FATAL:
		if (client->on_fatal)
			client->on_fatal(client);
		break;
	case RD_KAFKA_RESP_ERR__AUTHENTICATION:
		log_login_error(client, code, "kafka_authentication_failed", reason);
		break;
	case RD_KAFKA_RESP_ERR__SSL:
		log_login_error(client, code, "kafka_tls_failed", reason);
		break;
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
		set_outage(client, reason);
		break;
	default:
		snprintf(client->last_error, sizeof(client->last_error), "%s", reason);
	}
}

bool kafka_client_is_unauthorized(struct kafka_client *client, int code, const char *resource)
{
	if (code != RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED &&
	    code != RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED &&
	    code != RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED)
		return false;
	log_limited_error(client->log, "kafka_authorization_failed", LOG_TEXT("to", resource),
	                  LOG_TEXT("message", rd_kafka_err2str((rd_kafka_resp_err_t)code)));
	return true;
}

static enum err set(rd_kafka_conf_t *conf, const char *name, const char *value,
                    const struct log *log)
{
	char why[ERROR_TEXT_SIZE];
	if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
		return OK;
	/* librdkafka's message would quote the value, which may be a password. */
	log_error(log, "kafka_setting_rejected", LOG_TEXT("setting", name));
	return ERR_INVALID;
}

static enum err set_all(rd_kafka_conf_t *conf, const struct kafka_setting *settings, size_t count,
                        const struct log *log)
{
	for (size_t i = 0; i < count; i++) {
		/* "" means not set. */
		if (settings[i].value[0] &&
		    set(conf, settings[i].name, settings[i].value, log) != OK)
			return ERR_INVALID;
	}
	return OK;
}

enum err kafka_client_configure(struct kafka_client *client, const struct kafka_config *config,
                                const struct kafka_setting *settings, size_t count,
                                rd_kafka_conf_t **out)
{
	bool uses_tokens = strcmp(config->sasl_mechanism, KAFKA_OAUTHBEARER) == 0;
	const char *user = config->sasl_username, *password = config->sasl_password;
	const struct kafka_setting common[] = {
		{ "bootstrap.servers", config->brokers },
		{ "security.protocol", config->security_protocol },
		{ "sasl.mechanism", config->sasl_mechanism },
		{ "sasl.username", uses_tokens ? "" : user },
		{ "sasl.password", uses_tokens ? "" : password },
		{ "sasl.oauthbearer.method", uses_tokens ? "oidc" : "" },
		{ "sasl.oauthbearer.client.id", uses_tokens ? user : "" },
		{ "sasl.oauthbearer.client.secret", uses_tokens ? password : "" },
		{ "sasl.oauthbearer.token.endpoint.url", config->sasl_token_url },
		{ "sasl.oauthbearer.scope", config->sasl_scope },
		{ "ssl.ca.location", config->ssl_ca_file },
		{ "ssl.certificate.location", config->ssl_certificate_file },
		{ "ssl.key.location", config->ssl_key_file },
		{ "client.id", config->client_id },
		{ "reconnect.backoff.ms", "50" },
		{ "reconnect.backoff.max.ms", "1000" }, /* the default, 10 s, delays every recovery
		                                         */
		{ "socket.keepalive.enable", "true" },
		{ "statistics.interval.ms", "1000" },
	};
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_opaque(conf, client);
	rd_kafka_conf_set_log_cb(conf, on_log);
	rd_kafka_conf_set_error_cb(conf, on_error);
	rd_kafka_conf_set_stats_cb(conf, on_stats);
	enum err err = set_all(conf, common, ARRAY_SIZE(common), client->log);
	if (err == OK)
		err = set_all(conf, settings, count, client->log);
	if (err == OK)
		*out = conf;
	else
		rd_kafka_conf_destroy(conf);
	return err;
}

rd_kafka_t *kafka_client_open(struct kafka_client *client, rd_kafka_type_t type,
                              rd_kafka_conf_t *conf)
{
	char why[ERROR_TEXT_SIZE];
	rd_kafka_t *rk = rd_kafka_new(type, conf, why, sizeof(why));
	if (!rk) {
		log_error(client->log, "kafka_configuration_rejected", LOG_TEXT("message", why));
		rd_kafka_conf_destroy(conf);
	}
	return rk;
}

static rd_kafka_resp_err_t count_partitions(const struct rd_kafka_metadata *metadata,
                                            int32_t *count)
{
	if (metadata->topic_cnt != 1)
		return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	const struct rd_kafka_metadata_topic *topic = &metadata->topics[0];
	if (topic->err != RD_KAFKA_RESP_ERR_NO_ERROR)
		return topic->err;
	if (topic->partition_cnt == 0)
		return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	*count = topic->partition_cnt;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t kafka_client_count_partitions(struct kafka_client *client, rd_kafka_t *rk,
                                                  rd_kafka_topic_t *topic, int64_t timeout_ms,
                                                  int32_t *count)
{
	const struct rd_kafka_metadata *metadata = NULL;
	rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 0, topic, &metadata, (int)timeout_ms);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		return code;
	code = count_partitions(metadata, count);
	(void)kafka_client_is_unauthorized(client, code, rd_kafka_topic_name(topic));
	rd_kafka_metadata_destroy(metadata);
	return code;
}

enum err kafka_client_query_offsets(rd_kafka_t *rk, const char *topic, int32_t count,
                                    int64_t wanted, int64_t timeout_ms, int64_t *offsets)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
	for (int32_t p = 0; p < count; p++)
		rd_kafka_topic_partition_list_add(list, topic, p)->offset = wanted;
	enum err err =
		rd_kafka_offsets_for_times(rk, list, (int)timeout_ms) == RD_KAFKA_RESP_ERR_NO_ERROR
			? OK
			: ERR_UNAVAILABLE;
	for (int p = 0; p < list->cnt && err == OK; p++) {
		const rd_kafka_topic_partition_t *found = &list->elems[p];
		if (found->err != RD_KAFKA_RESP_ERR_NO_ERROR || found->offset < 0)
			err = ERR_UNAVAILABLE;
		else
			offsets[found->partition] = found->offset;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return err;
}
