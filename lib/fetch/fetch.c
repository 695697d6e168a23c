#include "lib/fetch/fetch.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/global_address.h"
#include "lib/base/url.h"
#include "lib/fetch/global_resolver.h"

/* "host:port:" and the addresses, as CURLOPT_RESOLVE wants them. */
#define RESOLVE_SIZE (FETCH_HOST_SIZE + 16 + GLOBAL_RESOLVER_ADDRESSES_MAX * (INET6_ADDRSTRLEN + 3))
#define AGENT_SIZE 128

struct transfer {
	const struct fetch_request *request;
	struct global_resolver_addresses allowed;
	size_t header_bytes;
};

void fetch_start(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
	global_resolver_start();
}

void fetch_end(void)
{
	global_resolver_end();
	curl_global_cleanup();
}

/* --- the URL --- */

/*
 * Copies in lower case. False if it is neither a name nor an IPv4 address: libcurl would read a name
 * that ends in a number ("127.1", "0x7f000001") as an address.
 */
static bool read_name(struct url_part host, char *out)
{
	struct in_addr address;
	size_t len = host.len - (host.len > 1 && host.text[host.len - 1] == '.');
	if (len == 0 || len >= FETCH_HOST_SIZE)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host.text[i];
		if (!isalnum(c) && c != '-' && c != '_' && c != '.')
			return false;
		out[i] = (char)tolower(c);
	}
	out[len] = '\0';
	const char *last = strrchr(out, '.');
	last = last ? last + 1 : out;
	return !isdigit((unsigned char)*last) || inet_pton(AF_INET, out, &address) == 1;
}

/* "[2001:db8::1]" without its brackets, in its shortest form. Zone ids are refused. */
static bool read_ipv6(struct url_part host, char *out)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	if (host.len - 2 >= sizeof(text))
		return false;
	memcpy(text, host.text + 1, host.len - 2);
	text[host.len - 2] = '\0';
	return inet_pton(AF_INET6, text, &address) == 1 &&
	       inet_ntop(AF_INET6, &address, out, FETCH_HOST_SIZE);
}

/* Writes the URL again from its parts, so that libcurl reads the host that was checked. */
static bool write_url(const struct url *url, bool is_https, struct fetch_url *out)
{
	const char *bracket = strchr(out->host, ':') ? "[" : "";
	const char *path = url->path.text;
	int len = snprintf(out->url, sizeof(out->url), "%s://%s%s%s:%u%.*s",
	                   is_https ? "https" : "http", bracket, out->host, *bracket ? "]" : "",
	                   (unsigned)out->port, (int)strcspn(path, "#"), path);
	return len > 0 && (size_t)len < sizeof(out->url);
}

enum err fetch_url_parse(const char *text, struct fetch_url *out)
{
	struct url url;
	struct fetch_url read;
	for (const char *at = text; *at; at++) {
		if ((unsigned char)*at <= ' ' || *at == '\\' || *at == 0x7f)
			return ERR_INVALID;
	}
	if (url_split(text, strlen(text), &url) != OK || url.user.text)
		return ERR_INVALID;
	bool is_https = url_part_is(url.scheme, "https");
	bool is_ipv6 = url.host.len > 0 && url.host.text[0] == '[';
	read.port = is_https ? 443 : 80;
	if ((!is_https && !url_part_is(url.scheme, "http")) ||
	    (url.port.text && url_port(url.port, &read.port) != OK) ||
	    !(is_ipv6 ? read_ipv6(url.host, read.host) : read_name(url.host, read.host)) ||
	    !write_url(&url, is_https, &read))
		return ERR_INVALID;
	if (read.port != 80 && read.port != 443 && read.port != 8080 && read.port != 8443)
		return ERR_LIMIT;
	*out = read;
	return OK;
}

void fetch_url_with_path(const struct fetch_url *url, const char *path, struct fetch_url *out)
{
	size_t origin = strlen("https://") + strcspn(url->url + strlen("https://"), "/?");
	*out = *url;
	snprintf(out->url + origin, sizeof(out->url) - origin, "%s", path);
}

/* --- the request --- */

static const void *bytes_of(const struct sockaddr_storage *address, size_t *len)
{
	bool is4 = address->ss_family == AF_INET;
	*len = is4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	return is4 ? (const void *)&((const struct sockaddr_in *)address)->sin_addr
	           : (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr;
}

static bool is_allowed(const struct global_resolver_addresses *allowed,
                       const struct sockaddr_storage *address)
{
	size_t len;
	const void *bytes = bytes_of(address, &len);
	for (size_t i = 0; i < allowed->count; i++) {
		const struct sockaddr_storage *one = &allowed->addresses[i];
		if (one->ss_family == address->ss_family &&
		    memcmp(bytes_of(one, &len), bytes, len) == 0)
			return true;
	}
	return false;
}

/* The last check: no socket is opened for another address, whatever libcurl resolved. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	const struct transfer *transfer = arg;
	struct sockaddr_storage peer = { 0 };
	if (purpose != CURLSOCKTYPE_IPCXN || address->socktype != SOCK_STREAM ||
	    address->addrlen > sizeof(peer))
		return CURL_SOCKET_BAD;
	memcpy(&peer, &address->addr, address->addrlen);
	if (!global_address_is((const struct sockaddr *)&peer) ||
	    !is_allowed(&transfer->allowed, &peer))
		return CURL_SOCKET_BAD;
	curl_socket_t opened =
		socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	const int buffer_bytes = FETCH_BYTES_MAX;
	if (opened != CURL_SOCKET_BAD) /* flow control stops the sender soon */
		(void)setsockopt(opened, SOL_SOCKET, SO_RCVBUF, &buffer_bytes,
		                 sizeof(buffer_bytes));
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

/* NULL for an IPv6 literal: libcurl does not look it up, and has no syntax for it. */
static struct curl_slist *resolve_list(const struct fetch_url *url,
                                       const struct global_resolver_addresses *found)
{
	char text[RESOLVE_SIZE];
	if (strchr(url->host, ':'))
		return NULL;
	size_t at = (size_t)snprintf(text, sizeof(text), "%s:%u:", url->host, (unsigned)url->port);
	for (size_t i = 0; i < found->count; i++) {
		char number[INET6_ADDRSTRLEN];
		size_t len;
		int family = found->addresses[i].ss_family;
		inet_ntop(family, bytes_of(&found->addresses[i], &len), number, sizeof(number));
		at += (size_t)snprintf(text + at, sizeof(text) - at,
		                       family == AF_INET6 ? "%s[%s]" : "%s%s", i ? "," : "",
		                       number);
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

static bool is_redirect(long status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* text: NULL = none. */
static void keep(const char *text, char *out, size_t size)
{
	if (!text || (size_t)snprintf(out, size, "%s", text) >= size)
		out[0] = '\0';
}

/* The status line is the result, even if the connection was closed after it. */
static enum err read_response(CURL *curl, struct fetch_response *out)
{
	long status = 0;
	char *location = NULL;
	const char *type = NULL;
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &location);
	curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
	if (status < 200 || status > 999)
		return ERR_UNAVAILABLE;
	out->status = (int)status;
	keep(is_redirect(status) ? location : NULL, out->location, sizeof(out->location));
	keep(type, out->type, sizeof(out->type));
	return OK;
}

static enum err perform(struct transfer *transfer, int64_t left_ms, struct fetch_response *out)
{
	const struct fetch_request *request = transfer->request;
	char agent[AGENT_SIZE];
	CURL *curl = curl_easy_init();
	struct curl_slist *resolve = resolve_list(request->url, &transfer->allowed);
	if (!curl)
		abort();
	snprintf(agent, sizeof(agent), FETCH_AGENT "/" WAYMARK_VERSION " (%s)", request->purpose);
	set_limits(curl, transfer, left_ms);
	curl_easy_setopt(curl, CURLOPT_URL, request->url->url);
	curl_easy_setopt(curl, CURLOPT_RESOLVE, resolve);
	curl_easy_setopt(curl, CURLOPT_NOBODY, request->is_head ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, agent);
	CURLcode code = curl_easy_perform(curl);
	enum err err = read_response(curl, out);
	if (err != OK && code == CURLE_OPERATION_TIMEDOUT)
		err = ERR_LIMIT;
	curl_easy_cleanup(curl);
	curl_slist_free_all(resolve);
	return err;
}

enum err fetch_run(const struct fetch_request *request, struct fetch_response *out)
{
	struct transfer transfer = { .request = request };
	struct fetch_response response = { 0 };
	const int64_t deadline_us =
		clock_steady_us(clock_system()) + request->timeout_ms * CLOCK_US_PER_MS;
	if (global_resolver_lookup(request->resolvers, request->url->host, request->timeout_ms,
	                           &transfer.allowed) != OK)
		return ERR_NOT_FOUND;
	int64_t left_ms = (deadline_us - clock_steady_us(clock_system())) / CLOCK_US_PER_MS;
	if (left_ms <= 0)
		return ERR_LIMIT;
	enum err err = perform(&transfer, left_ms, &response);
	if (err == OK)
		*out = response;
	return err;
}
