#include "services/links-api/health/health_probe.h"

#include <curl/curl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"

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

void health_probe_read(int status, const char *body, size_t len, struct health_process *process)
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
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)HEALTH_PROBE_TIMEOUT_MS);
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
		health_probe_read((int)status, transfer->body.data, transfer->body.len,
		                  transfer->process);
	else if (strbuf_status(&transfer->body) != OK)
		transfer->process->status = HEALTH_INVALID;
	else
		transfer->process->reason = reason_of(message->data.result);
}

static void perform(CURLM *multi)
{
	const struct clock *clock = clock_system();
	int64_t until_us = clock_steady_us(clock) + 2 * HEALTH_PROBE_TIMEOUT_MS * CLOCK_US_PER_MS;
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

void health_probe_run(const struct health_target *targets, size_t count,
                      struct health_report *report)
{
	report->count = 0;
	for (size_t i = 0; i < count; i++)
		find_processes(&targets[i], report);
	if (report->count > 0)
		ask_all(report);
}

void health_probe_start(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
}

void health_probe_end(void)
{
	curl_global_cleanup();
}
