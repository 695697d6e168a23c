#include "services/janitor/fetch.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/net/global_address.h"
#include "services/janitor/global_lookup.h"

/* "host:port:" and the addresses. */
#define PIN_SIZE (WEB_ADDRESS_HOST_SIZE + 16 + GLOBAL_LOOKUP_MAX * (INET6_ADDRSTRLEN + 3))

struct transfer {
	const struct fetch_request *request;
	struct global_lookup pinned;
	size_t header_bytes;
};

void fetch_start(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
}

void fetch_end(void)
{
	curl_global_cleanup();
}

static const void *bytes_of(const struct sockaddr_storage *address, size_t *len)
{
	bool is4 = address->ss_family == AF_INET;
	*len = is4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	return is4 ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
	           : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;
}

static bool is_pinned(const struct global_lookup *pinned, const struct sockaddr_storage *address)
{
	size_t len;
	const void *bytes = bytes_of(address, &len);
	for (size_t i = 0; i < pinned->count; i++) {
		const struct sockaddr_storage *one = &pinned->addresses[i];
		if (one->ss_family == address->ss_family && memcmp(bytes_of(one, &len), bytes, len) == 0)
			return true;
	}
	return false;
}

/* The last gate: whatever libcurl believes, there is no socket for another address. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	const struct transfer *transfer = arg;
	struct sockaddr_storage peer = { 0 };
	if (purpose != CURLSOCKTYPE_IPCXN || address->socktype != SOCK_STREAM || address->addrlen > sizeof(peer))
		return CURL_SOCKET_BAD;
	memcpy(&peer, &address->addr, address->addrlen);
	if (!global_address_is((const struct sockaddr *)&peer) || !is_pinned(&transfer->pinned, &peer))
		return CURL_SOCKET_BAD;
	curl_socket_t opened = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	const int room = FETCH_BYTES_MAX;
	if (opened != CURL_SOCKET_BAD) /* what we do not read is not sent */
		(void)setsockopt(opened, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	return opened;
}

static size_t count_header(char *bytes, size_t one, size_t len, void *arg)
{
	struct transfer *transfer = arg;
	(void)bytes;
	(void)one;
	transfer->header_bytes += len;
	return transfer->header_bytes > FETCH_BYTES_MAX ? 0 : len;
}

static size_t keep_body(char *bytes, size_t one, size_t len, void *arg)
{
	struct strbuf *body = ((struct transfer *)arg)->request->body;
	(void)one;
	if (!body)
		return 0;
	size_t room = FETCH_BYTES_MAX - body->len;
	strbuf_add(body, bytes, len < room ? len : room);
	return len <= room ? len : 0;
}

/* NULL: the host is an IPv6 address, for which libcurl knows no pins, and which it need not look up. */
static struct curl_slist *pin(const struct web_address *address, const struct global_lookup *found)
{
	char text[PIN_SIZE];
	if (strchr(address->host, ':'))
		return NULL;
	size_t at = (size_t)snprintf(text, sizeof(text), "%s:%u:", address->host, (unsigned)address->port);
	for (size_t i = 0; i < found->count; i++) {
		char number[INET6_ADDRSTRLEN];
		size_t len;
		int family = found->addresses[i].ss_family;
		inet_ntop(family, bytes_of(&found->addresses[i], &len), number, sizeof(number));
		at += (size_t)snprintf(text + at, sizeof(text) - at, family == AF_INET6 ? "%s[%s]" : "%s%s",
		                       i ? "," : "", number);
	}
	struct curl_slist *list = curl_slist_append(NULL, text);
	if (!list)
		abort();
	return list;
}

static void set_limits(CURL *curl, struct transfer *transfer, int64_t left_ms)
{
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)left_ms);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)left_ms);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, count_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
}

/* What came before the connection was cut counts: the status line is the answer. */
static enum err read_answer(CURL *curl, struct fetch_answer *out)
{
	long status = 0;
	char *location = NULL;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &location);
	if (status < 200 || status > 999)
		return ERR_UNAVAILABLE;
	out->status = (int)status;
	if (!location ||
	    (size_t)snprintf(out->location, sizeof(out->location), "%s", location) >= sizeof(out->location))
		out->location[0] = '\0';
	return OK;
}

static enum err perform(struct transfer *transfer, int64_t left_ms, struct fetch_answer *out)
{
	const struct fetch_request *request = transfer->request;
	CURL *curl = curl_easy_init();
	struct curl_slist *pins = pin(request->address, &transfer->pinned);
	if (!curl)
		abort();
	set_limits(curl, transfer, left_ms);
	curl_easy_setopt(curl, CURLOPT_URL, request->address->url);
	curl_easy_setopt(curl, CURLOPT_RESOLVE, pins);
	curl_easy_setopt(curl, CURLOPT_NOBODY, request->is_head ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT,
	                 FETCH_AGENT "/" WAYMARK_VERSION " (checks the destinations of links)");
	CURLcode code = curl_easy_perform(curl);
	enum err err = read_answer(curl, out);
	if (err != OK && code == CURLE_OPERATION_TIMEDOUT)
		err = ERR_LIMIT;
	curl_easy_cleanup(curl);
	curl_slist_free_all(pins);
	return err;
}

enum err fetch_run(const struct fetch_request *request, struct fetch_answer *out)
{
	struct transfer transfer = { .request = request };
	struct fetch_answer answer = { 0 };
	const int64_t deadline_us = clock_steady_us(clock_system()) + FETCH_TIMEOUT_MS * CLOCK_US_PER_MS;
	if (global_lookup_host(request->resolvers, request->address->host, FETCH_TIMEOUT_MS, &transfer.pinned) != OK)
		return ERR_NOT_FOUND;
	int64_t left_ms = (deadline_us - clock_steady_us(clock_system())) / CLOCK_US_PER_MS;
	if (left_ms <= 0)
		return ERR_LIMIT;
	enum err err = perform(&transfer, left_ms, &answer);
	if (err == OK)
		*out = answer;
	return err;
}
