/*
 * hiredis' blocking calls have a timeout for each read and write, so a server that trickles its
 * reply could block a caller forever. Here the context does not block, and one deadline covers the
 * whole call.
 */
#include "lib/redis/redis_conn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <hiredis/hiredis.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/base/thread.h"

#define RUN_ID_DIGITS 16
/* A script with entries of links is the longest. */
#define COMMAND_BYTES_MAX (16U << 20)

struct redis_conn {
	redisContext *wire;
	/* The command that is written last. */
	struct strbuf command;
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
	struct strbuf *command = &conn->command;
	strbuf_reset(command);
	add_count(command, '*', count);
	for (size_t i = 0; i < count; i++) {
		add_count(command, '$', args[i].len);
		strbuf_add(command, args[i].bytes, args[i].len);
		strbuf_add(command, "\r\n", 2);
	}
	if (strbuf_status(command) != OK)
		return fail(conn, "the command is too long");
	return redisAppendFormattedCommand(conn->wire, command->data, command->len) == REDIS_OK
	               ? OK
	               : fail(conn, conn->wire->errstr);
}

enum err redis_conn_write(struct redis_conn *conn, bool *is_done)
{
	int done = 0;
	if (redisBufferWrite(conn->wire, &done) != REDIS_OK)
		return fail(conn, conn->wire->errstr);
	*is_done = done;
	return OK;
}

enum err redis_conn_read(struct redis_conn *conn)
{
	return redisBufferRead(conn->wire) == REDIS_OK ? OK : fail(conn, conn->wire->errstr);
}

enum err redis_conn_pull(struct redis_conn *conn, struct redis_reply **reply)
{
	void *got = NULL;
	if (redisGetReplyFromReader(conn->wire, &got) != REDIS_OK)
		return fail(conn, conn->wire->errstr);
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

enum err redis_conn_open(const struct redis_url *url, int64_t timeout_ms, struct redis_conn **out,
                         char *why, size_t size)
{
	int64_t deadline_us = deadline_in(timeout_ms);
	struct redis_conn *conn = mem_zero(sizeof(*conn));
	strbuf_init(&conn->command, COMMAND_BYTES_MAX);
	conn->wire = url->socket[0] ? redisConnectUnixNonBlock(url->socket)
	                            : redisConnectNonBlock(url->host, url->port);
	if (!conn->wire)
		abort(); /* out of memory */
	enum err err = finish_connecting(conn, deadline_us);
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
	redisFree(conn->wire);
	strbuf_clear(&conn->command);
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
