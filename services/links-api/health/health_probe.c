#include "services/links-api/health/health_probe.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/base/url.h"
#include "lib/json/json.h"

/* --- HEALTH_URLS --- */

#define HEALTH_TARGETS_MAX 16
#define SEPARATORS ", \t\r\n"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define ENTRY_SIZE 320

struct health_target {
	/* A to z, digits and dashes. */
	char name[HEALTH_PROBE_NAME_SIZE];
	/* A name or an address, IPv6 without brackets. */
	char host[254];
	char port[6];
};

/* Copies len bytes if they fit, are not empty and consist of the given characters. */
static bool take(const char *text, size_t len, const char *characters, char *out, size_t size)
{
	if (len == 0 || len >= size || strspn(text, characters) < len)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

static bool is_address(int family, const char *text)
{
	unsigned char address[sizeof(struct in6_addr)];
	return inet_pton(family, text, address) == 1;
}

static bool take_host(const char *text, size_t len, struct health_target *out)
{
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		return take(text + 1, len - 2, DIGITS "abcdefABCDEF:.", out->host,
		            sizeof(out->host)) &&
		       is_address(AF_INET6, out->host);
	if (!take(text, len, LOWER UPPER DIGITS ".-_", out->host, sizeof(out->host)))
		return false;
	/* The last label of a name is never a number. */
	const char *dot = strrchr(out->host, '.');
	const char *last = dot ? dot + 1 : out->host;
	return last[0] == '\0' || last[strspn(last, DIGITS)] != '\0' ||
	       is_address(AF_INET, out->host);
}

static enum err parse_target(const char *entry, struct health_target *out)
{
	struct health_target read;
	struct url url;
	uint16_t port;
	size_t name_len = strcspn(entry, "=");
	const char *text = entry + name_len + (entry[name_len] == '=');
	if (!take(entry, name_len, LOWER DIGITS "-", read.name, sizeof(read.name)) ||
	    strncmp(text, "http://", 7) != 0 || url_split(text, strlen(text), &url) != OK ||
	    url.user.text || !take_host(url.host.text, url.host.len, &read) ||
	    url_port(url.port, &port) != OK ||
	    !take(url.port.text, url.port.len, DIGITS, read.port, sizeof(read.port)))
		return ERR_INVALID;
	bool has_path =
		url.path.text[0] == '/' ? url.path.text[1] != '\0' : url.path.text[0] != '\0';
	if (has_path)
		return ERR_INVALID;
	*out = read;
	return OK;
}

static enum err parse_targets(const char *list,
                              struct health_target targets[static HEALTH_TARGETS_MAX],
                              size_t *count)
{
	*count = 0;
	for (list += strspn(list, SEPARATORS); *list; list += strspn(list, SEPARATORS)) {
		char entry[ENTRY_SIZE];
		size_t len = strcspn(list, SEPARATORS);
		if (*count == HEALTH_TARGETS_MAX)
			return ERR_LIMIT;
		if (len >= sizeof(entry))
			return ERR_INVALID;
		memcpy(entry, list, len);
		entry[len] = '\0';
		enum err err = parse_target(entry, &targets[*count]);
		if (err != OK)
			return err;
		(*count)++;
		list += len;
	}
	return OK;
}

/* --- the check of the configuration --- */

static bool is_target(const char *entry)
{
	struct health_target target;
	return parse_target(entry, &target) == OK;
}

static bool has_name_of_service(const char *entry)
{
	static const char *const services[] = { "redirector", "links-api", "analytics-consumer",
		                                "janitor" };
	struct health_target target;
	for (size_t i = 0; parse_target(entry, &target) == OK && i < ARRAY_SIZE(services); i++)
		if (strcmp(services[i], target.name) == 0)
			return true;
	return false;
}

size_t health_probe_check(const char *urls, struct strbuf *problems)
{
	struct health_target targets[HEALTH_TARGETS_MAX];
	size_t count;
	size_t wrong = env_check_entries(urls, is_target, "HEALTH_URLS",
	                                 "is not NAME=http://HOST:PORT", problems);
	if (wrong == 0)
		wrong = env_check_entries(urls, has_name_of_service, "HEALTH_URLS",
		                          "does not begin with the name of a service: redirector, "
		                          "links-api, analytics-consumer or janitor",
		                          problems);
	if (wrong > 0)
		return wrong;
	return env_expect(parse_targets(urls, targets, &count) == OK, "HEALTH_URLS",
	                  "has more than 16 entries", problems);
}

#define TIMEOUT_MS 1000
#define BODY_BYTES_MAX 4096
#define URL_SIZE 96
#define POLL_MS 100

/* --- the response --- */

static bool read_failing(const struct json *list, struct health_process *process)
{
	size_t count = list && json_type(list) == JSON_ARRAY ? json_count(list) : SIZE_MAX;
	if (count > HEALTH_PROBE_FAILING_MAX)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct json *item = json_at(list, i);
		const char *name = json_type(item) == JSON_TEXT ? json_text(item, NULL) : "";
		size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
		if (len == 0 || name[len] || len >= HEALTH_PROBE_CHECK_SIZE)
			return false;
		memcpy(process->failing[i], name, len + 1);
	}
	process->failing_count = count;
	return true;
}

/* False if there is something else than a count. Other services have none. */
static bool read_count(const struct json *value, int64_t *out)
{
	if (!value)
		return true;
	if (json_type(value) != JSON_INT || json_int(value) < 0)
		return false;
	*out = json_int(value);
	return true;
}

static enum health_status status_of(int status, const struct json *body)
{
	static const struct {
		const char *name;
		int http;
		enum health_status status;
	} known[] = {
		{ "ready", 200, HEALTH_READY },
		{ "degraded", 200, HEALTH_DEGRADED },
		{ "unready", 503, HEALTH_UNREADY },
	};
	const struct json *value = json_get(body, "status");
	const char *name = value && json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].http == status && strcmp(known[i].name, name) == 0)
			return known[i].status;
	return HEALTH_INVALID;
}

/*
 * A body that is not {status, failing}, or does not fit the HTTP status, is HEALTH_INVALID. Counts may
 * be missing.
 */
static void read_response(int status, const char *body, size_t len, struct health_process *process)
{
	char reason[JSON_REASON_SIZE];
	struct json *json = NULL;
	process->status = HEALTH_INVALID;
	if (json_parse(body, len, &json, reason) != OK)
		return;
	if (json_type(json) == JSON_OBJECT && read_failing(json_get(json, "failing"), process) &&
	    read_count(json_get(json, "events_queued"), &process->events_queued) &&
	    read_count(json_get(json, "events_dropped"), &process->events_dropped))
		process->status = status_of(status, json);
	bool is_contradiction = (process->status == HEALTH_READY) != (process->failing_count == 0);
	if (process->status != HEALTH_INVALID && is_contradiction)
		process->status = HEALTH_INVALID;
	if (process->status == HEALTH_INVALID) {
		process->failing_count = 0;
		process->events_queued = process->events_dropped = -1;
	}
	json_free(json);
}

/* --- addresses --- */

static struct health_process *add_process(struct health_report *report,
                                          const struct health_target *target)
{
	struct health_process *process = &report->processes[report->count++];
	*process = (struct health_process){ .status = HEALTH_UNREACHABLE,
		                            .events_queued = -1,
		                            .events_dropped = -1 };
	snprintf(process->name, sizeof(process->name), "%s", target->name);
	return process;
}

static void add_missing(struct health_report *report, const struct health_target *target)
{
	struct health_process *process = add_process(report, target);
	process->reason = HEALTH_REASON_NO_ADDRESS;
	(void)snprintf(process->address, sizeof(process->address), "%.56s:%s", target->host,
	               target->port);
}

static void add_address(struct health_report *report, const struct health_target *target,
                        const struct addrinfo *address)
{
	char number[INET6_ADDRSTRLEN];
	bool is6 = address->ai_family == AF_INET6;
	if (getnameinfo(address->ai_addr, address->ai_addrlen, number, sizeof(number), NULL, 0,
	                NI_NUMERICHOST) != 0)
		return;
	struct health_process *process = add_process(report, target);
	snprintf(process->address, sizeof(process->address), is6 ? "[%s]:%s" : "%s:%s", number,
	         target->port);
}

/* A headless name of Kubernetes has the address of each pod. */
static void find_processes(const struct health_target *target, struct health_report *report)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	if (report->count == HEALTH_PROBE_PROCESSES_MAX)
		return;
	if (getaddrinfo(target->host, target->port, &hints, &found) != 0) {
		add_missing(report, target);
		return;
	}
	for (const struct addrinfo *at = found; at; at = at->ai_next)
		if (report->count < HEALTH_PROBE_PROCESSES_MAX)
			add_address(report, target, at);
	freeaddrinfo(found);
}

/* --- requests --- */

struct transfer {
	CURL *curl;
	struct health_process *process;
	struct strbuf body;
	bool is_over;
};

static size_t keep_body(char *bytes, size_t one, size_t len, void *arg)
{
	struct strbuf *body = arg;
	(void)one;
	strbuf_add(body, bytes, len);
	return strbuf_status(body) == OK ? len : 0;
}

static void begin(struct transfer *transfer, CURLM *multi)
{
	char url[URL_SIZE];
	CURL *curl = curl_easy_init();
	if (!curl)
		abort();
	transfer->curl = curl;
	strbuf_init(&transfer->body, BODY_BYTES_MAX + 1);
	snprintf(url, sizeof(url), "http://%s/readyz", transfer->process->address);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "Waymark/" WAYMARK_VERSION " (health)");
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer->body);
	curl_easy_setopt(curl, CURLOPT_PRIVATE, (char *)transfer);
	curl_multi_add_handle(multi, curl);
}

static enum health_reason reason_of(CURLcode code)
{
	if (code == CURLE_COULDNT_CONNECT)
		return HEALTH_REASON_NO_CONNECTION;
	return code == CURLE_OPERATION_TIMEDOUT ? HEALTH_REASON_TIMEOUT : HEALTH_REASON_NO_RESPONSE;
}

static void complete(const CURLMsg *message)
{
	char *private = NULL;
	long status = 0;
	curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
	curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
	struct transfer *transfer = (struct transfer *)private;
	transfer->is_over = true;
	if (message->data.result == CURLE_OK)
		read_response((int)status, transfer->body.data, transfer->body.len,
		              transfer->process);
	else if (strbuf_status(&transfer->body) != OK)
		transfer->process->status = HEALTH_INVALID;
	else
		transfer->process->reason = reason_of(message->data.result);
}

static void perform(CURLM *multi)
{
	const struct clock *clock = clock_system();
	int64_t until_us = clock_steady_us(clock) + 2 * TIMEOUT_MS * CLOCK_US_PER_MS;
	int running = 1;
	while (running > 0 && clock_steady_us(clock) < until_us) {
		int left;
		const CURLMsg *message;
		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return;
		while ((message = curl_multi_info_read(multi, &left)))
			complete(message);
		if (running > 0 && curl_multi_poll(multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
			return;
	}
}

static void ask_all(struct health_report *report)
{
	CURLM *multi = curl_multi_init();
	struct transfer *transfers = mem_array(report->count, sizeof(*transfers));
	if (!multi)
		abort();
	for (size_t i = 0; i < report->count; i++) {
		transfers[i] = (struct transfer){ .process = &report->processes[i] };
		if (report->processes[i].reason == HEALTH_REASON_NONE)
			begin(&transfers[i], multi);
	}
	perform(multi);
	for (size_t i = 0; i < report->count; i++) {
		if (!transfers[i].curl)
			continue;
		if (!transfers[i].is_over)
			transfers[i].process->reason = HEALTH_REASON_TIMEOUT;
		curl_multi_remove_handle(multi, transfers[i].curl);
		curl_easy_cleanup(transfers[i].curl);
		strbuf_clear(&transfers[i].body);
	}
	free(transfers);
	curl_multi_cleanup(multi);
}

/* In the order of the targets. */
static void ask(const struct health_target *targets, size_t count, struct health_report *report)
{
	report->count = 0;
	for (size_t i = 0; i < count; i++)
		find_processes(&targets[i], report);
	if (report->count > 0)
		ask_all(report);
}

/* --- a thread of its own --- */

#define FRESH_US (2 * CLOCK_US_PER_S)
#define WAIT_MS 2000

struct health_probe {
	const struct clock *clock;
	struct health_target targets[HEALTH_TARGETS_MAX];
	size_t target_count;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t is_wanted_cond, is_done_cond;
	bool is_wanted, is_stopping;
	/* Steady; of report. */
	int64_t done_at_us;
	/* The last complete one. */
	struct health_report report;
	/* Of the thread alone. */
	struct health_report next;
};

static void *run(void *arg)
{
	struct health_probe *m = arg;
	pthread_mutex_lock(&m->mutex);
	while (!m->is_stopping) {
		if (!m->is_wanted) {
			pthread_cond_wait(&m->is_wanted_cond, &m->mutex);
			continue;
		}
		pthread_mutex_unlock(&m->mutex);
		ask(m->targets, m->target_count, &m->next);
		pthread_mutex_lock(&m->mutex);
		m->report = m->next;
		m->report.checked_at_us = clock_now_us(m->clock);
		m->done_at_us = clock_steady_us(m->clock);
		m->is_wanted = false;
		pthread_cond_broadcast(&m->is_done_cond);
	}
	pthread_mutex_unlock(&m->mutex);
	return NULL;
}

struct health_probe *health_probe_start(const char *urls, const struct clock *clock)
{
	struct health_probe *m = mem_zero(sizeof(*m));
	m->clock = clock;
	if (parse_targets(urls, m->targets, &m->target_count) != OK)
		abort(); /* the configuration has been checked */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
	pthread_mutex_init(&m->mutex, NULL);
	thread_cond_init(&m->is_wanted_cond);
	thread_cond_init(&m->is_done_cond);
	thread_spawn(&m->thread, "health", run, m);
	return m;
}

void health_probe_stop(struct health_probe *m)
{
	if (!m)
		return;
	pthread_mutex_lock(&m->mutex);
	m->is_stopping = true;
	pthread_cond_broadcast(&m->is_wanted_cond);
	pthread_mutex_unlock(&m->mutex);
	pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->is_done_cond);
	pthread_cond_destroy(&m->is_wanted_cond);
	pthread_mutex_destroy(&m->mutex);
	curl_global_cleanup();
	free(m);
}

static bool is_fresh(const struct health_probe *m)
{
	return m->report.checked_at_us > 0 && clock_steady_us(m->clock) - m->done_at_us <= FRESH_US;
}

void health_probe_read(struct health_probe *m, struct health_report *out)
{
	struct timespec until = thread_deadline_in_ms(WAIT_MS);
	pthread_mutex_lock(&m->mutex);
	int rc = 0;
	while (!is_fresh(m) && rc == 0) {
		m->is_wanted = true;
		pthread_cond_signal(&m->is_wanted_cond);
		rc = pthread_cond_timedwait(&m->is_done_cond, &m->mutex, &until);
	}
	*out = m->report;
	pthread_mutex_unlock(&m->mutex);
}
