#include "lib/tracing/span_exporter.h"

#include <curl/curl.h>
#include <opentelemetry/otlp.pb-c.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"
#include "lib/protobuf/protobuf.h"

#define PATH "/v1/traces"
#define PERIOD_MS 1000
#define BATCH_MAX 1024 /* about 300 KB */
#define CONNECT_TIMEOUT_MS 2000
#define TIMEOUT_MS 10000
#define LAST_TIMEOUT_MS 2000 /* of all requests after the stop together */
#define RESPONSE_BYTES_MAX 65536
#define INSTANCE_SIZE 65
#define HTTP_OK 200
#define NS_PER_US 1000
#define SERVER_ERROR 500
#define NAME_SIZE 128 /* the method and the longest route */
#define ATTRIBUTES 3

struct span_exporter {
	char *url;
	char *service;
	char instance[INSTANCE_SIZE];
	struct metric *sent;
	struct metric *dropped;
	const struct log *log;

	/* Guards waiting and waiting_count; held for a copy only. */
	pthread_mutex_t lock;
	struct span *waiting;
	size_t waiting_count;

	/* of the thread */
	struct thread *thread;
	struct span *sending;
	CURL *curl;
	struct curl_slist *headers;
	struct strbuf response;
	/* The last batch was not accepted. */
	bool is_away;
	/* Steady: when the last request has to end; 0: not stopping. */
	int64_t until_us;
};

/* --- messages of the OpenTelemetry protocol (otlp.proto) --- */

/* An attribute and the pointers that protobuf-c wants for it. */
struct attribute {
	Otlp__KeyValue pair;
	Otlp__AnyValue value;
};

/* A span as a message, with everything that it points to. */
struct message {
	Otlp__Span span;
	Otlp__Status status;
	struct attribute attributes[ATTRIBUTES];
	Otlp__KeyValue *list[ATTRIBUTES];
	char name[NAME_SIZE];
};

static void set_key(struct attribute *attribute, const char *key)
{
	otlp__key_value__init(&attribute->pair);
	otlp__any_value__init(&attribute->value);
	attribute->pair.key = (char *)key;
	attribute->pair.value = &attribute->value;
}

static void set_text(struct attribute *attribute, const char *key, const char *text)
{
	set_key(attribute, key);
	attribute->value.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	attribute->value.string_value = (char *)text;
}

static void set_number(struct attribute *attribute, const char *key, int64_t number)
{
	set_key(attribute, key);
	attribute->value.value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	attribute->value.int_value = number;
}

static Otlp__KeyValue **list_of(struct attribute *attributes, size_t count, Otlp__KeyValue **list)
{
	for (size_t i = 0; i < count; i++)
		list[i] = &attributes[i].pair;
	return list;
}

static void describe(struct span *from, struct message *to)
{
	Otlp__Span *span = &to->span;
	otlp__span__init(span);
	span->trace_id = (ProtobufCBinaryData){ SPAN_TRACE_ID_BYTES, from->trace_id };
	span->span_id = (ProtobufCBinaryData){ SPAN_ID_BYTES, from->id };
	if (from->has_parent)
		span->parent_span_id = (ProtobufCBinaryData){ SPAN_ID_BYTES, from->parent_id };
	(void)snprintf(to->name, sizeof(to->name), "%s%s%s", from->method,
	               from->route[0] ? " " : "", from->route);
	span->name = to->name;
	span->kind = OTLP__SPAN_KIND__SPAN_KIND_SERVER;
	span->start_time_unix_nano = (uint64_t)from->began_us * NS_PER_US;
	span->end_time_unix_nano = (uint64_t)(from->began_us + from->duration_us) * NS_PER_US;

	size_t count = 0;
	set_text(&to->attributes[count++], "http.request.method", from->method);
	set_number(&to->attributes[count++], "http.response.status_code", from->status);
	if (from->route[0])
		set_text(&to->attributes[count++], "http.route", from->route);
	span->attributes = list_of(to->attributes, count, to->list);
	span->n_attributes = count;

	otlp__status__init(&to->status);
	if (from->status >= SERVER_ERROR)
		to->status.code = OTLP__STATUS_CODE__STATUS_CODE_ERROR;
	span->status = &to->status;
}

static uint8_t *pack(const Otlp__ExportTraceServiceRequest *request, size_t *len)
{
	uint8_t *bytes = mem_zero(otlp__export_trace_service_request__get_packed_size(request));
	*len = otlp__export_trace_service_request__pack(request, bytes);
	return bytes;
}

/* An ExportTraceServiceRequest with these spans. Release it with free(). */
static uint8_t *encode(const struct span_exporter *exporter, struct span *spans, size_t count,
                       size_t *len)
{
	struct message *messages = mem_array(count, sizeof(*messages));
	Otlp__Span **list = mem_array(count, sizeof(Otlp__Span *));
	for (size_t i = 0; i < count; i++) {
		describe(&spans[i], &messages[i]);
		list[i] = &messages[i].span;
	}

	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	scope.name = (char *)"waymark";
	scope.version = (char *)WAYMARK_VERSION;
	Otlp__ScopeSpans of_scope = OTLP__SCOPE_SPANS__INIT;
	of_scope.scope = &scope;
	of_scope.spans = list;
	of_scope.n_spans = count;
	Otlp__ScopeSpans *of_scopes[] = { &of_scope };

	struct attribute attributes[4];
	Otlp__KeyValue *pairs[ARRAY_SIZE(attributes)];
	set_text(&attributes[0], "service.name", exporter->service);
	set_text(&attributes[1], "service.namespace", "waymark");
	set_text(&attributes[2], "service.version", WAYMARK_VERSION);
	set_text(&attributes[3], "service.instance.id", exporter->instance);
	Otlp__Resource described = OTLP__RESOURCE__INIT;
	described.attributes = list_of(attributes, ARRAY_SIZE(attributes), pairs);
	described.n_attributes = ARRAY_SIZE(attributes);

	Otlp__ResourceSpans of_resource = OTLP__RESOURCE_SPANS__INIT;
	of_resource.resource = &described;
	of_resource.scope_spans = of_scopes;
	of_resource.n_scope_spans = 1;
	Otlp__ResourceSpans *of_resources[] = { &of_resource };
	Otlp__ExportTraceServiceRequest request = OTLP__EXPORT_TRACE_SERVICE_REQUEST__INIT;
	request.resource_spans = of_resources;
	request.n_resource_spans = 1;
	uint8_t *bytes = pack(&request, len);
	free(messages);
	free(list);
	return bytes;
}

/*
 * How many spans an ExportTraceServiceResponse rejects. 0 for one that is empty or cannot be read:
 * its status says that the spans were accepted.
 */
static int64_t count_rejected(const void *response, size_t len)
{
	const char *problem;
	Otlp__ExportTraceServiceResponse *message = protobuf_unpack(
		&otlp__export_trace_service_response__descriptor, response, len, &problem);
	if (!message)
		return 0;
	int64_t rejected = message->partial_success ? message->partial_success->rejected_spans : 0;
	protobuf_free(message);
	return rejected > 0 ? rejected : 0;
}

/* --- requests --- */

static size_t keep_response(char *bytes, size_t one, size_t len, void *arg)
{
	struct strbuf *response = arg;
	(void)one;
	strbuf_add(response, bytes, len);
	return strbuf_status(response) == OK ? len : 0;
}

/* After a stop, all requests together have LAST_TIMEOUT_MS. */
static void limit_last_requests(struct span_exporter *exporter)
{
	if (exporter->until_us == 0)
		exporter->until_us =
			clock_steady_us(clock_system()) + LAST_TIMEOUT_MS * CLOCK_US_PER_MS;
}

/* libcurl calls it at least once a second. Another result than 0 ends the request. */
static int should_end(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct span_exporter *exporter = arg;
	(void)a, (void)b, (void)c, (void)d;
	if (!thread_is_stopping(exporter->thread))
		return 0;
	limit_last_requests(exporter);
	return clock_steady_us(clock_system()) > exporter->until_us;
}

static void create_client(struct span_exporter *exporter)
{
	CURL *curl = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_easy_init() : NULL;
	if (!curl)
		abort();
	exporter->curl = curl;
	exporter->headers = curl_slist_append(NULL, "Content-Type: application/x-protobuf");
	/* A request of this size would otherwise wait for permission to send its body. */
	exporter->headers = curl_slist_append(exporter->headers, "Expect:");
	curl_easy_setopt(curl, CURLOPT_URL, exporter->url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, exporter->headers);
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "Waymark/" WAYMARK_VERSION " (traces)");
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_response);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exporter->response);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, should_end);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, exporter);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

static long timeout_ms(const struct span_exporter *exporter)
{
	if (exporter->until_us == 0)
		return TIMEOUT_MS;
	int64_t left_us = exporter->until_us - clock_steady_us(clock_system());
	return left_us < CLOCK_US_PER_MS ? 1 : (long)(left_us / CLOCK_US_PER_MS);
}

/* Whether the receiver has taken the request. Logs why not. */
static bool post(struct span_exporter *exporter, const uint8_t *bytes, size_t len)
{
	long status = 0;
	curl_easy_setopt(exporter->curl, CURLOPT_TIMEOUT_MS, timeout_ms(exporter));
	strbuf_reset(&exporter->response);
	curl_easy_setopt(exporter->curl, CURLOPT_POSTFIELDS, (const char *)bytes);
	curl_easy_setopt(exporter->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	CURLcode result = curl_easy_perform(exporter->curl);
	curl_easy_getinfo(exporter->curl, CURLINFO_RESPONSE_CODE, &status);
	if (result == CURLE_OK && status == HTTP_OK)
		return true;
	log_limited_warning(exporter->log, "spans_not_accepted",
	                    LOG_TEXT("message", result == CURLE_OK ? "unexpected status"
	                                                           : curl_easy_strerror(result)),
	                    LOG_INT("status", status));
	return false;
}

static void send_batch(struct span_exporter *exporter, struct span *spans, size_t count)
{
	size_t len;
	uint8_t *bytes = encode(exporter, spans, count, &len);
	exporter->is_away = !post(exporter, bytes, len);
	free(bytes);
	int64_t lost = (int64_t)count;
	if (!exporter->is_away) {
		int64_t rejected = count_rejected(exporter->response.data, exporter->response.len);
		lost = rejected < lost ? rejected : lost;
	}
	metrics_add(exporter->dropped, lost);
	metrics_add(exporter->sent, (int64_t)count - lost);
}

static void send_waiting(struct span_exporter *exporter)
{
	pthread_mutex_lock(&exporter->lock);
	struct span *spans = exporter->waiting;
	size_t count = exporter->waiting_count;
	exporter->waiting = exporter->sending;
	exporter->waiting_count = 0;
	pthread_mutex_unlock(&exporter->lock);
	exporter->sending = spans;
	size_t at = 0;
	while (at < count && (at == 0 || !exporter->is_away)) {
		size_t batch = count - at < BATCH_MAX ? count - at : BATCH_MAX;
		send_batch(exporter, spans + at, batch);
		at += batch;
	}
	metrics_add(exporter->dropped, (int64_t)(count - at));
}

static void run(void *ctx)
{
	struct span_exporter *exporter = ctx;
	while (!thread_wait_ms(exporter->thread, PERIOD_MS))
		send_waiting(exporter);
	limit_last_requests(exporter);
	if (exporter->is_away)
		metrics_add(exporter->dropped, (int64_t)exporter->waiting_count);
	else
		send_waiting(exporter);
}

struct span_exporter *span_exporter_start(const struct span_exporter_config *config)
{
	struct span_exporter *exporter = mem_zero(sizeof(*exporter));
	int len = (int)strlen(config->endpoint);
	while (len > 0 && config->endpoint[len - 1] == '/')
		len--;
	if (asprintf(&exporter->url, "%.*s" PATH, len, config->endpoint) < 0)
		abort();
	exporter->service = mem_text(config->service);
	exporter->sent = config->sent;
	exporter->dropped = config->dropped;
	exporter->log = config->log;
	/* On Kubernetes it is the name of the pod. */
	if (gethostname(exporter->instance, sizeof(exporter->instance) - 1) != 0)
		exporter->instance[0] = '\0';
	pthread_mutex_init(&exporter->lock, NULL);
	exporter->waiting = mem_array(SPAN_EXPORTER_QUEUE_MAX, sizeof(struct span));
	exporter->sending = mem_array(SPAN_EXPORTER_QUEUE_MAX, sizeof(struct span));
	strbuf_init(&exporter->response, RESPONSE_BYTES_MAX);
	create_client(exporter);
	exporter->thread = thread_new();
	thread_start(exporter->thread, "spans", run, exporter);
	return exporter;
}

void span_exporter_stop(struct span_exporter *exporter)
{
	if (!exporter)
		return;
	thread_free(exporter->thread);
	curl_easy_cleanup(exporter->curl);
	curl_slist_free_all(exporter->headers);
	curl_global_cleanup();
	strbuf_clear(&exporter->response);
	pthread_mutex_destroy(&exporter->lock);
	free(exporter->waiting);
	free(exporter->sending);
	free(exporter->service);
	free(exporter->url);
	free(exporter);
}

void span_exporter_add(struct span_exporter *exporter, const struct span *span)
{
	pthread_mutex_lock(&exporter->lock);
	bool fits = exporter->waiting_count < SPAN_EXPORTER_QUEUE_MAX;
	if (fits)
		exporter->waiting[exporter->waiting_count++] = *span;
	pthread_mutex_unlock(&exporter->lock);
	if (!fits)
		metrics_add(exporter->dropped, 1);
}
