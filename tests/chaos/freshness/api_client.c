#include "tests/chaos/freshness/api_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

#define REQUEST_SIZE 2048
#define HEAD_SIZE 4096

struct api_client {
	uint16_t port;
	/* -1 without a connection. */
	int fd;
	char token[1024];
};

struct api_client *api_client_new(uint16_t port, const char *token)
{
	struct api_client *client = mem_zero(sizeof(*client));
	client->port = port;
	client->fd = -1;
	snprintf(client->token, sizeof(client->token), "%s", token);
	return client;
}

static void disconnect(struct api_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

void api_client_free(struct api_client *client)
{
	if (!client)
		return;
	disconnect(client);
	free(client);
}

static bool is_connected(struct api_client *client)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		                             .sin_port = htons(client->port),
		                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval timeout = { .tv_sec = API_CLIENT_TIMEOUT_S };
	int no_delay = 1;
	char byte;
	/* The server may have closed the connection while it was idle. */
	if (client->fd >= 0 && recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		disconnect(client);
	if (client->fd >= 0)
		return true;
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return false;
	if (setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof(no_delay)) == 0 &&
	    setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0 &&
	    connect(client->fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		return true;
	disconnect(client);
	return false;
}

static size_t write_request(const struct api_client *client, const struct api_client_request *r,
                            char out[static REQUEST_SIZE])
{
	char login[1100] = "", if_match[64] = "";
	const char *body = r->body ? r->body : "";
	if (!r->is_anonymous)
		snprintf(login, sizeof(login), "Authorization: Bearer %s\r\n", client->token);
	if (r->if_match != 0)
		snprintf(if_match, sizeof(if_match), "If-Match: \"v%lld\"\r\n",
		         (long long)r->if_match);
	int len =
		snprintf(out, REQUEST_SIZE,
	                 "%s %s HTTP/1.1\r\nHost: api.test\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
	                 r->method, r->path, login, if_match,
	                 r->body ? "Content-Type: application/json\r\n" : "", strlen(body), body);
	if (len < 0 || len >= REQUEST_SIZE)
		abort();
	return (size_t)len;
}

/*
 * Reads to the end of the head at least. Returns the number of bytes, or 0 if the connection ended.
 */
static size_t read_head(int fd, char buffer[static HEAD_SIZE], size_t *head_len)
{
	size_t have = 0;
	while (have < HEAD_SIZE - 1) {
		ssize_t got = recv(fd, buffer + have, HEAD_SIZE - 1 - have, 0);
		if (got <= 0)
			return 0;
		have += (size_t)got;
		buffer[have] = '\0';
		const char *end = strstr(buffer, "\r\n\r\n");
		if (end) {
			*head_len = (size_t)(end + 4 - buffer);
			return have;
		}
	}
	return 0;
}

static void add_body(struct api_client_answer *answer, const char *bytes, size_t len)
{
	size_t room = sizeof(answer->body) - 1 - answer->body_len;
	len = len < room ? len : room;
	memcpy(answer->body + answer->body_len, bytes, len);
	answer->body_len += len;
	answer->body[answer->body_len] = '\0';
}

static bool read_answer(struct api_client *client, struct api_client_answer *answer)
{
	char buffer[HEAD_SIZE];
	size_t head_len;
	size_t have = read_head(client->fd, buffer, &head_len);
	if (have == 0 || strncmp(buffer, "HTTP/1.1 ", 9) != 0)
		return false;
	const char *length = strcasestr(buffer, "\r\nContent-Length:");
	bool closes = strcasestr(buffer, "\r\nConnection: close") != NULL;
	size_t left = length ? strtoul(length + 17, NULL, 10) : 0;
	answer->status = (unsigned)strtoul(buffer + 9, NULL, 10);
	add_body(answer, buffer + head_len, have - head_len);
	left -= have - head_len < left ? have - head_len : left;
	while (left > 0) {
		ssize_t got =
			recv(client->fd, buffer, left < sizeof(buffer) ? left : sizeof(buffer), 0);
		if (got <= 0)
			return false;
		add_body(answer, buffer, (size_t)got);
		left -= (size_t)got;
	}
	if (closes)
		disconnect(client);
	return true;
}

enum api_client_outcome api_client_call(struct api_client *client,
                                        const struct api_client_request *request,
                                        struct api_client_answer *answer)
{
	char bytes[REQUEST_SIZE];
	size_t len = write_request(client, request, bytes);
	bool can_send = is_connected(client);
	answer->status = 0;
	answer->body_len = 0;
	answer->body[0] = '\0';
	answer->begin_us = answer->end_us = clock_steady_us(clock_system());
	if (!can_send)
		return API_CLIENT_NOT_SENT;
	bool is_answered = send(client->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len &&
	                   read_answer(client, answer);
	answer->end_us = clock_steady_us(clock_system());
	if (is_answered && answer->status != 0)
		return API_CLIENT_ANSWERED;
	answer->status = 0;
	disconnect(client);
	return API_CLIENT_CUT;
}
