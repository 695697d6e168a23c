#include "tests/support/test_redis.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/redis/redis_conn.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define START_TIMEOUT_US TEST_DEADLINE_US
#define CALL_MS 5000
#define WORDS_MAX 16

/* Below the ephemeral range, so that no other socket takes the port while the server restarts. */
#define PORT_MIN 20000
#define PORT_MAX 32000
#define PORT_TRIES 200

struct test_redis {
	uint16_t port;
	/* Of the port, against other tests and stacks (tools/stacklib/ports.py). */
	int reservation;
	pid_t pid;
	char folder[TEST_FOLDER_SIZE];
	char socket[TEST_FOLDER_SIZE + 16];
	/* TLS: the certificate of the server, which is its own authority, and its key. */
	bool has_tls;
	char certificate[TEST_FOLDER_SIZE + 16];
	char key[TEST_FOLDER_SIZE + 16];
};

static bool is_free(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = htons(port),
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	bool is_bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return is_bound;
}

/* The kernel releases the abstract name of the port when this process ends. */
static bool reserve(struct test_redis *redis, uint16_t port)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "waymark-port-%u",
	                   (unsigned)port);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
	if (bind(fd, (struct sockaddr *)&name, size) != 0 || !is_free(port)) {
		close(fd);
		return false;
	}
	redis->port = port;
	redis->reservation = fd;
	return true;
}

static void take_port(struct test_redis *redis)
{
	for (int i = 0; i < PORT_TRIES; i++) {
		if (reserve(redis, (uint16_t)(PORT_MIN + entropy_below(PORT_MAX - PORT_MIN))))
			return;
	}
	fail_msg("no free port between %d and %d", PORT_MIN, PORT_MAX);
}

/* Runs in the child process. */
static void exec_redis(const struct test_redis *redis, pid_t parent)
{
	char port[8];
	snprintf(port, sizeof(port), "%u", (unsigned)redis->port);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null_fd < 0 || dup2(null_fd, STDOUT_FILENO) < 0 || getppid() != parent)
		_exit(1);
	/* Without TLS these are the settings' own defaults. */
	execlp("redis-server", "redis-server", "--port", redis->has_tls ? "0" : port, "--bind",
	       "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", redis->folder,
	       "--repl-diskless-sync-delay", "0", "--unixsocket", redis->socket, "--tls-port",
	       redis->has_tls ? port : "0", "--tls-cert-file", redis->certificate, "--tls-key-file",
	       redis->key, "--tls-auth-clients", "no", (char *)NULL);
	_exit(1);
}

static struct redis_conn *try_connecting(const struct test_redis *redis)
{
	struct redis_url url = { .host = "127.0.0.1",
		                 .port = redis->port,
		                 .is_tls = redis->has_tls };
	struct redis_conn *conn = NULL;
	char why[128];
	return redis_conn_open(&url, redis->certificate, CALL_MS, &conn, why, sizeof(why)) == OK
	               ? conn
	               : NULL;
}

static void start(struct test_redis *redis)
{
	pid_t parent = getpid();
	int64_t until_us = clock_steady_us(clock_system()) + START_TIMEOUT_US;
	struct redis_conn *conn = NULL;
	redis->pid = fork();
	assert_true(redis->pid >= 0);
	if (redis->pid == 0)
		exec_redis(redis, parent);
	while (!conn) {
		assert_true(clock_steady_us(clock_system()) < until_us);
		conn = try_connecting(redis);
		if (!conn)
			usleep(5000); /* poll interval */
	}
	redis_conn_close(conn);
}

static void end(struct test_redis *redis)
{
	kill(redis->pid, SIGKILL);
	assert_int_equal(waitpid(redis->pid, NULL, 0), redis->pid);
}

/* For 127.0.0.1, valid for a day. */
static void make_certificate(struct test_redis *redis)
{
	int status;
	snprintf(redis->certificate, sizeof(redis->certificate), "%s/redis.pem", redis->folder);
	snprintf(redis->key, sizeof(redis->key), "%s/redis.key", redis->folder);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO); /* its progress */
		execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
		       "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=test",
		       "-addext", "subjectAltName=IP:127.0.0.1", "-out", redis->certificate,
		       "-keyout", redis->key, (char *)NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static struct test_redis *make(bool has_tls)
{
	struct test_redis *redis = mem_zero(sizeof(*redis));
	signal(SIGPIPE, SIG_IGN);
	test_folder_make(redis->folder);
	snprintf(redis->socket, sizeof(redis->socket), "%s/redis.sock", redis->folder);
	redis->has_tls = has_tls;
	if (has_tls)
		make_certificate(redis);
	take_port(redis);
	start(redis);
	return redis;
}

struct test_redis *test_redis_new(void)
{
	return make(false);
}

struct test_redis *test_redis_new_with_tls(void)
{
	return make(true);
}

const char *test_redis_certificate(const struct test_redis *redis)
{
	return redis->certificate;
}

void test_redis_free(struct test_redis *redis)
{
	end(redis);
	close(redis->reservation);
	test_folder_remove(redis->folder);
	free(redis);
}

uint16_t test_redis_port(const struct test_redis *redis)
{
	return redis->port;
}

void test_redis_url(const struct test_redis *redis, char url[static TEST_REDIS_URL_SIZE])
{
	snprintf(url, TEST_REDIS_URL_SIZE, "redis%s://127.0.0.1:%u", redis->has_tls ? "s" : "",
	         (unsigned)redis->port);
}

const char *test_redis_socket(const struct test_redis *redis)
{
	return redis->socket;
}

void test_redis_restart(struct test_redis *redis)
{
	end(redis);
	start(redis);
}

void test_redis_freeze(struct test_redis *redis)
{
	int status;
	assert_int_equal(kill(redis->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(redis->pid, &status, WUNTRACED), redis->pid);
}

void test_redis_thaw(struct test_redis *redis)
{
	assert_int_equal(kill(redis->pid, SIGCONT), 0);
}

int64_t test_redis_run(const struct test_redis *redis, const char *command)
{
	char *text = mem_text(command);
	struct redis_arg words[WORDS_MAX];
	size_t count = 0;
	for (char *at = text, *word; (word = strsep(&at, " ")) != NULL;) {
		assert_true(count < WORDS_MAX);
		words[count++] = REDIS_TEXT(word);
	}
	struct redis_conn *conn = try_connecting(redis);
	struct redis_reply *reply = NULL;
	assert_non_null(conn);
	assert_int_equal(redis_conn_call(conn, words, count, CALL_MS, &reply), OK);
	if (redis_reply_error(reply))
		fail_msg("%s: %s", command, redis_reply_error(reply));
	int64_t number = redis_reply_int(reply);
	redis_reply_free(reply);
	redis_conn_close(conn);
	free(text);
	return number;
}
