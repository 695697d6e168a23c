#include "lib/tracing/span_exporter.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"
#include "lib/tracing/otlp.h"

#define PATH "/v1/traces"
#define PERIOD_MS 1000
#define BATCH_MAX 1024 /* about 300 KB */
#define CONNECT_TIMEOUT_MS 2000
#define TIMEOUT_MS 10000
#define LAST_TIMEOUT_MS 2000 /* of all requests after the stop together */
#define RESPONSE_BYTES_MAX 65536
#define INSTANCE_SIZE 65
#define HTTP_OK 200

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
	const struct otlp_resource resource = { exporter->service, exporter->instance };
	uint8_t *bytes = otlp_encode(&resource, spans, count, &len);
	exporter->is_away = !post(exporter, bytes, len);
	free(bytes);
	int64_t lost = (int64_t)count;
	if (!exporter->is_away) {
		int64_t rejected = otlp_rejected(exporter->response.data, exporter->response.len);
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

static char *url_of(const char *endpoint)
{
	struct strbuf url;
	size_t len = strlen(endpoint);
	while (len > 0 && endpoint[len - 1] == '/')
		len--;
	strbuf_init(&url, len + sizeof(PATH));
	strbuf_add(&url, endpoint, len);
	strbuf_add_text(&url, PATH);
	char *text = mem_text_n(url.data, url.len);
	strbuf_clear(&url);
	return text;
}

struct span_exporter *span_exporter_start(const struct span_exporter_config *config)
{
	struct span_exporter *exporter = mem_zero(sizeof(*exporter));
	exporter->url = url_of(config->endpoint);
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
