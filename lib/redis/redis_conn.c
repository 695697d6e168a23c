/*
 * hiredis' blocking calls have a timeout for each read and write, so a server that trickles its
 * reply could block a caller forever. Here the context does not block, and one deadline covers the
 * whole call. hiredis connects and parses replies; the bytes go through here, with TLS or without.
 */
#include "lib/redis/redis_conn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"
#include "lib/redis/redis_tls.h"

#define RUN_ID_DIGITS 16
/* Of commands that have not left. A script with entries of links is the longest. */
#define COMMAND_BYTES_MAX (16U << 20)

struct redis_conn {
	redisContext *wire;
	/* NULL: without TLS. */
	struct redis_tls *tls;
	/* Commands. The first sent bytes of them have left. */
	struct strbuf commands;
	size_t sent;
	uint64_t run_id;
	bool broken;
	bool timed_out;
	char message[128];
};

static enum err fail(struct redis_conn *conn, const char *message)
{
	conn->broken = true;
	snprintf(conn->message, sizeof(conn->message), "%s", message);
	return ERR_UNAVAILABLE;
}

static int64_t deadline_in(int64_t timeout_ms)
{
	return clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
}

static enum err wait_for(struct redis_conn *conn, short events, int64_t deadline_us)
{
	short ready;
	enum err err = thread_poll(conn->wire->fd, events, deadline_us, &ready);
	conn->timed_out = err == ERR_LIMIT;
	if (err == OK)
		return OK;
	return fail(conn, err == ERR_LIMIT ? "no reply in time" : strerrordesc_np(errno));
}

static enum err finish_connecting(struct redis_conn *conn, int64_t deadline_us)
{
	if (conn->wire->err)
		return fail(conn, conn->wire->errstr);
	enum err err = wait_for(conn, POLLOUT, deadline_us);
	if (err != OK)
		return err;
	int error = 0;
	socklen_t len = sizeof(error);
	if (getsockopt(conn->wire->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	return error == 0 ? OK : fail(conn, strerrordesc_np(error));
}

/* ERR_LIMIT: the socket is not ready. */
static enum err fail_socket(struct redis_conn *conn)
{
	if (errno == EAGAIN || errno == EINTR)
		return ERR_LIMIT;
	return fail(conn, strerrordesc_np(errno));
}

static enum err send_plain(struct redis_conn *conn, const char *bytes, size_t len, size_t *written)
{
	ssize_t n = send(conn->wire->fd, bytes, len, MSG_NOSIGNAL);
	if (n < 0)
		return fail_socket(conn);
	*written = (size_t)n;
	return OK;
}

static enum err receive_plain(struct redis_conn *conn, char *bytes, size_t size, size_t *len)
{
	ssize_t n = recv(conn->wire->fd, bytes, size, 0);
	if (n < 0)
		return fail_socket(conn);
	*len = (size_t)n;
	return n > 0 ? OK : fail(conn, "Server closed the connection");
}

static void add_count(struct strbuf *b, char kind, size_t count)
{
	char text[24];
	size_t at = sizeof(text);
	text[--at] = '\n';
	text[--at] = '\r';
	do
		text[--at] = (char)('0' + count % 10);
	while ((count /= 10) > 0);
	text[--at] = kind;
	strbuf_add(b, text + at, sizeof(text) - at);
}

/* hiredis' own functions take three allocations and ten times as long. */
enum err redis_conn_push(struct redis_conn *conn, const struct redis_arg *args, size_t count)
{
	struct strbuf *commands = &conn->commands;
	add_count(commands, '*', count);
	for (size_t i = 0; i < count; i++) {
		add_count(commands, '$', args[i].len);
		strbuf_add(commands, args[i].bytes, args[i].len);
		strbuf_add(commands, "\r\n", 2);
	}
	return strbuf_status(commands) == OK ? OK : fail(conn, "the command is too long");
}

enum err redis_conn_write(struct redis_conn *conn, bool *is_done)
{
	const char *bytes = conn->commands.data + conn->sent;
	size_t left = conn->commands.len - conn->sent, written = 0;
	enum err err = OK;
	if (left > 0 && conn->tls)
		err = redis_tls_write(conn->tls, bytes, left, &written);
	else if (left > 0)
		err = send_plain(conn, bytes, left, &written);
	if (err != OK && err != ERR_LIMIT)
		return conn->tls ? fail(conn, redis_tls_message(conn->tls)) : err;
	conn->sent += written;
	*is_done = conn->sent == conn->commands.len;
	if (*is_done) {
		strbuf_reset(&conn->commands);
		conn->sent = 0;
	}
	return OK;
}

enum err redis_conn_read(struct redis_conn *conn)
{
	char bytes[REDIS_TLS_READ_SIZE];
	size_t len = 0;
	enum err err = conn->tls ? redis_tls_read(conn->tls, bytes, &len)
	                         : receive_plain(conn, bytes, sizeof(bytes), &len);
	if (err == ERR_LIMIT)
		return OK;
	if (err != OK)
		return conn->tls ? fail(conn, redis_tls_message(conn->tls)) : err;
	return redisReaderFeed(conn->wire->reader, bytes, len) == REDIS_OK
	               ? OK
	               : fail(conn, conn->wire->reader->errstr);
}

enum err redis_conn_pull(struct redis_conn *conn, struct redis_reply **reply)
{
	void *got = NULL;
	if (redisReaderGetReply(conn->wire->reader, &got) != REDIS_OK)
		return fail(conn, conn->wire->reader->errstr);
	if (!got)
		return ERR_NOT_FOUND;
	*reply = got;
	return OK;
}

int redis_conn_descriptor(const struct redis_conn *conn)
{
	return conn->wire->fd;
}

static enum err send_all(struct redis_conn *conn, int64_t deadline_us)
{
	for (bool is_done = false; !is_done;) {
		enum err err = wait_for(conn, POLLOUT, deadline_us);
		if (err == OK)
			err = redis_conn_write(conn, &is_done);
		if (err != OK)
			return err;
	}
	return OK;
}

static enum err receive(struct redis_conn *conn, int64_t deadline_us, struct redis_reply **reply)
{
	for (;;) {
		enum err err = redis_conn_pull(conn, reply);
		if (err != ERR_NOT_FOUND)
			return err;
		err = wait_for(conn, POLLIN, deadline_us);
		if (err == OK)
			err = redis_conn_read(conn);
		if (err != OK)
			return err;
	}
}

static enum err call(struct redis_conn *conn, const struct redis_arg *args, size_t count,
                     int64_t deadline_us, struct redis_reply **reply)
{
	enum err err = redis_conn_push(conn, args, count);
	if (err == OK)
		err = send_all(conn, deadline_us);
	return err == OK ? receive(conn, deadline_us, reply) : err;
}

/* Runs a command of the handshake. An error reply is a failure. */
static enum err call_checked(struct redis_conn *conn, const struct redis_arg *args, size_t count,
                             int64_t deadline_us)
{
	struct redis_reply *reply = NULL;
	enum err err = call(conn, args, count, deadline_us, &reply);
	const char *error = redis_reply_error(reply);
	if (err == OK && error)
		err = fail(conn, error);
	redis_reply_free(reply);
	return err;
}

static enum err authenticate(struct redis_conn *conn, const struct redis_url *url,
                             int64_t deadline_us)
{
	enum err err = OK;
	if (url->password[0]) {
		struct redis_arg auth[3] = { REDIS_TEXT("AUTH") };
		size_t n = 1;
		if (url->user[0])
			auth[n++] = REDIS_TEXT(url->user);
		auth[n++] = REDIS_TEXT(url->password);
		err = call_checked(conn, auth, n, deadline_us);
	}
	if (err == OK && url->db > 0) {
		char db[8];
		snprintf(db, sizeof(db), "%u", (unsigned)url->db);
		const struct redis_arg select[] = { REDIS_TEXT("SELECT"), REDIS_TEXT(db) };
		err = call_checked(conn, select, 2, deadline_us);
	}
	return err;
}

/* Reads "run_id:" and its 40 hexadecimal digits; 0: there is none. */
static uint64_t read_run_id(const char *info)
{
	static const char name[] = "\nrun_id:";
	const char *at = info ? strstr(info, name) : NULL;
	char digits[RUN_ID_DIGITS + 1];
	if (!at)
		return 0;
	snprintf(digits, sizeof(digits), "%s", at + sizeof(name) - 1);
	return strspn(digits, "0123456789abcdef") == RUN_ID_DIGITS ? strtoull(digits, NULL, 16) : 0;
}

static enum err identify(struct redis_conn *conn, int64_t deadline_us)
{
	const struct redis_arg info[] = { REDIS_TEXT("INFO"), REDIS_TEXT("server") };
	struct redis_reply *reply = NULL;
	enum err err = call(conn, info, 2, deadline_us, &reply);
	if (err == OK)
		conn->run_id = read_run_id(redis_reply_bytes(reply, NULL));
	redis_reply_free(reply);
	return err;
}

static enum err start_tls(struct redis_conn *conn, const struct redis_url *url, const char *ca_file,
                          int64_t deadline_us)
{
	if (!url->is_tls)
		return OK;
	conn->tls = redis_tls_new(ca_file, url->host, conn->wire->fd);
	for (;;) {
		short wanted;
		enum err err = redis_tls_handshake(conn->tls, &wanted);
		if (err == OK)
			return OK;
		if (err != ERR_LIMIT)
			return fail(conn, redis_tls_message(conn->tls));
		err = wait_for(conn, wanted, deadline_us);
		if (err != OK)
			return err;
	}
}

enum err redis_conn_open(const struct redis_url *url, const char *ca_file, int64_t timeout_ms,
                         struct redis_conn **out, char *why, size_t size)
{
	int64_t deadline_us = deadline_in(timeout_ms);
	struct redis_conn *conn = mem_zero(sizeof(*conn));
	strbuf_init(&conn->commands, COMMAND_BYTES_MAX);
	conn->wire = url->socket[0] ? redisConnectUnixNonBlock(url->socket)
	                            : redisConnectNonBlock(url->host, url->port);
	if (!conn->wire)
		abort(); /* out of memory */
	enum err err = finish_connecting(conn, deadline_us);
	if (err == OK)
		err = start_tls(conn, url, ca_file, deadline_us);
	if (err == OK)
		err = authenticate(conn, url, deadline_us);
	if (err == OK)
		err = identify(conn, deadline_us);
	if (err == OK) {
		*out = conn;
		return OK;
	}
	snprintf(why, size, "%s", conn->message);
	redis_conn_close(conn);
	return err;
}

void redis_conn_close(struct redis_conn *conn)
{
	if (!conn)
		return;
	redis_tls_free(conn->tls);
	redisFree(conn->wire);
	strbuf_clear(&conn->commands);
	free(conn);
}

enum err redis_conn_call(struct redis_conn *conn, const struct redis_arg *args, size_t count,
                         int64_t timeout_ms, struct redis_reply **reply)
{
	if (conn->broken)
		return ERR_UNAVAILABLE;
	return call(conn, args, count, deadline_in(timeout_ms), reply);
}

uint64_t redis_conn_run_id(const struct redis_conn *conn)
{
	return conn->run_id;
}

void redis_conn_invalidate(struct redis_conn *conn)
{
	conn->broken = true;
}

bool redis_conn_is_usable(const struct redis_conn *conn)
{
	return !conn->broken;
}

bool redis_conn_timed_out(const struct redis_conn *conn)
{
	return conn->timed_out;
}

bool redis_conn_is_alive(struct redis_conn *conn)
{
	/* Redis sends nothing unrequested, so readable input is the end of the stream. */
	struct pollfd fd = { .fd = conn->wire->fd, .events = POLLIN };
	return !conn->broken && poll(&fd, 1, 0) == 0;
}

const char *redis_conn_message(const struct redis_conn *conn)
{
	return conn->message;
}
