#include "tests/support/test_redis.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/redis/redis_conn.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define START_TIMEOUT_US TEST_DEADLINE_US
#define CALL_MS 5000
#define WORDS_MAX 16

struct test_redis {
	uint16_t port;
	pid_t pid;
	char folder[TEST_FOLDER_SIZE];
};

static uint16_t free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
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
	execlp("redis-server", "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
	       "--appendonly", "no", "--dir", redis->folder, "--repl-diskless-sync-delay", "0",
	       (char *)NULL);
	_exit(1);
}

static struct redis_conn *try_connecting(const struct test_redis *redis)
{
	struct redis_url url = { .host = "127.0.0.1", .port = redis->port };
	struct redis_conn *conn = NULL;
	char why[128];
	return redis_conn_open(&url, CALL_MS, &conn, why, sizeof(why)) == OK ? conn : NULL;
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

struct test_redis *test_redis_new(void)
{
	struct test_redis *redis = mem_zero(sizeof(*redis));
	signal(SIGPIPE, SIG_IGN);
	test_folder_make(redis->folder);
	redis->port = free_port();
	start(redis);
	return redis;
}

void test_redis_free(struct test_redis *redis)
{
	end(redis);
	test_folder_remove(redis->folder);
	free(redis);
}

uint16_t test_redis_port(const struct test_redis *redis)
{
	return redis->port;
}

void test_redis_url(const struct test_redis *redis, char url[static TEST_REDIS_URL_SIZE])
{
	snprintf(url, TEST_REDIS_URL_SIZE, "redis://127.0.0.1:%u", (unsigned)redis->port);
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
