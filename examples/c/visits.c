/*
 * Prints each visit on waymark.visits.v1 once, as one line of JSON. docs/integrations.md has the
 * guarantees that it relies on.
 *
 *   KAFKA_BROKERS=127.0.0.1:9092 ./visits
 *
 * It commits an offset only after it has printed the visit, so a crash loses no visit. It
 * recognises repeated visits by their event_id.
 */
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <search.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waymark/v1/visit_event.pb-c.h"

#define TOPIC "waymark.visits.v1"
#define TYPE "waymark.visit.v1"
#define POLL_MS 200
/* The number of latest visits among which a repeat is recognised. If you store visits in a table,
 * make event_id its key instead. */
#define REMEMBERED 100000

typedef struct event_id {
	unsigned char bytes[16];
} event_id;

static volatile sig_atomic_t stopping;

static void stop(int number)
{
	(void)number;
	stopping = 1;
}

/* --- repeats --- */

static event_id remembered[REMEMBERED]; /* ring buffer of the latest event_ids */
static size_t remembered_count;
static void *by_id; /* the same event_ids as a tree (search.h) */

static int compare_ids(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(event_id));
}

static bool is_repeat(const ProtobufCBinaryData *id)
{
	event_id *slot = &remembered[remembered_count % REMEMBERED];
	event_id wanted;
	memcpy(wanted.bytes, id->data, sizeof(wanted.bytes));
	if (tfind(&wanted, &by_id, compare_ids))
		return true;
	if (remembered_count++ >= REMEMBERED)
		tdelete(slot, &by_id, compare_ids);
	*slot = wanted;
	if (!tsearch(slot, &by_id, compare_ids))
		abort(); /* out of memory */
	return false;
}

/* --- printing --- */

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			printf("\\u%04x", (unsigned)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

/* The only field of type bytes in a VisitEvent is a UUID. */
static void print_uuid(const ProtobufCBinaryData *id)
{
	putchar('"');
	for (size_t i = 0; i < id->len; i++)
		printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id->data[i]);
	putchar('"');
}

static void print_value(const ProtobufCFieldDescriptor *field, const void *value)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
		print_text(*(char *const *)value);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		print_uuid(value);
		break;
	case PROTOBUF_C_TYPE_INT64:
		printf("%" PRId64, *(const int64_t *)value);
		break;
	case PROTOBUF_C_TYPE_UINT32:
		printf("%" PRIu32, *(const uint32_t *)value);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		fputs(*(const protobuf_c_boolean *)value ? "true" : "false", stdout);
		break;
	default:
		fputs("null", stdout); /* a type that a later version of the message may add */
	}
}

/* The only repeated fields of a VisitEvent are lists of texts. */
static void print_texts(const char *visit, const ProtobufCFieldDescriptor *field)
{
	size_t count = *(const size_t *)(visit + field->quantifier_offset);
	char *const *texts = *(char *const *const *)(visit + field->offset);
	putchar('[');
	for (size_t i = 0; i < count; i++) {
		fputs(i == 0 ? "" : ", ", stdout);
		print_text(texts[i]);
	}
	putchar(']');
}

static void print_field(const char *visit, const ProtobufCFieldDescriptor *field)
{
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		print_texts(visit, field);
	else
		print_value(field, visit + field->offset);
}

/* All fields of the .proto version that the program was built with. */
static void print_visit(const Waymark__V1__VisitEvent *visit)
{
	const ProtobufCMessageDescriptor *type = visit->base.descriptor;
	for (unsigned i = 0; i < type->n_fields; i++) {
		printf("%s\"%s\": ", i == 0 ? "{" : ", ", type->fields[i].name);
		print_field((const char *)visit, &type->fields[i]);
	}
	puts("}");
}

/* --- reading --- */

/* Later versions may add records of other types to the topic; skip them. */
static bool is_visit(const rd_kafka_message_t *record)
{
	rd_kafka_headers_t *headers;
	const void *type;
	size_t len;
	return rd_kafka_message_headers(record, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
	       rd_kafka_header_get_last(headers, "ce_type", &type, &len) ==
	               RD_KAFKA_RESP_ERR_NO_ERROR &&
	       len == strlen(TYPE) && memcmp(type, TYPE, len) == 0;
}

static void take(const rd_kafka_message_t *record)
{
	if (!is_visit(record))
		return;
	Waymark__V1__VisitEvent *visit =
		waymark__v1__visit_event__unpack(NULL, record->len, record->payload);
	if (!visit || visit->event_id.len != sizeof(event_id))
		fprintf(stderr, "not a visit: partition %" PRId32 ", offset %" PRId64 "\n",
		        record->partition, record->offset);
	else if (!is_repeat(&visit->event_id))
		print_visit(visit);
	if (visit)
		waymark__v1__visit_event__free_unpacked(visit, NULL);
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

/* Sets a property from the environment variable, or from value. A property without either is left
 * unset. */
static void configure(rd_kafka_conf_t *conf, const char *name, const char *variable,
                      const char *value)
{
	char why[256];
	if (variable && getenv(variable) && *getenv(variable))
		value = getenv(variable);
	if (value && rd_kafka_conf_set(conf, name, value, why, sizeof(why)) != RD_KAFKA_CONF_OK)
		fail(name, why);
}

static rd_kafka_t *connect_group(void)
{
	char why[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	configure(conf, "bootstrap.servers", "KAFKA_BROKERS", "127.0.0.1:9092");
	configure(conf, "group.id", "KAFKA_GROUP", "subscriber-c");
	configure(conf, "security.protocol", "KAFKA_SECURITY_PROTOCOL", NULL);
	configure(conf, "sasl.mechanism", "KAFKA_SASL_MECHANISM", NULL);
	configure(conf, "sasl.username", "KAFKA_SASL_USERNAME", NULL);
	configure(conf, "sasl.password", "KAFKA_SASL_PASSWORD", NULL);
	configure(conf, "ssl.ca.location", "KAFKA_SSL_CA_FILE", NULL);
	/* A new group begins at the oldest visit that Kafka still has. */
	configure(conf, "auto.offset.reset", NULL, "earliest");
	/* librdkafka commits, every few seconds, only the offsets passed to rd_kafka_offset_store.
	 */
	configure(conf, "enable.auto.offset.store", NULL, "false");
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
	if (!rk)
		fail("rd_kafka_new", why);
	rd_kafka_poll_set_consumer(rk);
	return rk;
}

static void subscribe(rd_kafka_t *rk)
{
	rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, TOPIC, RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t err = rd_kafka_subscribe(rk, topics);
	if (err != RD_KAFKA_RESP_ERR_NO_ERROR)
		fail("rd_kafka_subscribe", rd_kafka_err2str(err));
	rd_kafka_topic_partition_list_destroy(topics);
}

int main(void)
{
	/* A signal must not end a write to a full pipe: the visit in it would be lost. */
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	rd_kafka_t *rk = connect_group();
	subscribe(rk);
	while (!stopping) {
		rd_kafka_message_t *record = rd_kafka_consumer_poll(rk, POLL_MS);
		if (!record)
			continue;
		if (record->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
			take(record);
			if (fflush(stdout) != 0)
				fail("stdout", "cannot be written");
			rd_kafka_offset_store(record->rkt, record->partition, record->offset);
		} else {
			fprintf(stderr, "kafka: %s\n",
			        rd_kafka_message_errstr(
					record)); /* librdkafka recovers by itself */
		}
		rd_kafka_message_destroy(record);
	}
	rd_kafka_consumer_close(rk); /* commits and leaves the group */
	rd_kafka_destroy(rk);
	return 0;
}
