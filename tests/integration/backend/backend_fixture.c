#include "tests/integration/backend/backend_fixture.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "tests/support/test.h"

static void copy_variable(const char *name, char *out, size_t size)
{
	const char *value = getenv(name);
	if (!value) {
		fail_msg("%s is not set: run this test inside a stack (tests/support/in-stack)",
		         name);
		return;
	}
	assert_true(strlen(value) < size);
	snprintf(out, size, "%s", value);
}

int backend_fixture_set_up(void **state)
{
	struct backend_fixture *f = mem_zero(sizeof(*f));
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	signal(SIGPIPE, SIG_IGN);
	snprintf(f->unique, sizeof(f->unique), "t%d_%ld", (int)getpid(), now.tv_nsec);
	copy_variable("PG_URL", f->pg_url, sizeof(f->pg_url));
	copy_variable("REDIS_URL", f->redis_url, sizeof(f->redis_url));
	copy_variable("KAFKA_BROKERS", f->kafka.brokers, sizeof(f->kafka.brokers));
	f->log_fd = memfd_create("log", MFD_CLOEXEC);
	f->log = log_new("test", LOG_DEBUG, f->log_fd);
	*state = f;
	return 0;
}

int backend_fixture_tear_down(void **state)
{
	struct backend_fixture *f = *state;
	log_free(f->log);
	close(f->log_fd);
	free(f);
	return 0;
}

int backend_fixture_logged(const struct backend_fixture *f, const char *text)
{
	char path[48];
	char line[LOG_LINE_MAX + 1];
	int count = 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->log_fd);
	FILE *in = fopen(path, "re");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in))
		count += strstr(line, text) != NULL;
	fclose(in);
	return count;
}

/* The offset of the port in url, and its number of digits. */
static size_t find_port(const char *url, size_t *digits)
{
	static const char host[] = "127.0.0.1:";
	const char *port = strstr(url, host);
	assert_non_null(port);
	port += sizeof(host) - 1;
	*digits = strspn(port, "0123456789");
	return (size_t)(port - url);
}

uint16_t backend_fixture_port(const char *url)
{
	size_t digits = 0;
	size_t at = find_port(url, &digits);
	char *text = mem_text_n(url + at, digits);
	int64_t port = 0;
	assert_int_equal(number_parse(text, 1, UINT16_MAX, &port), OK);
	free(text);
	return (uint16_t)port;
}

void backend_fixture_set_port(char *url, size_t size, uint16_t port)
{
	size_t digits = 0;
	size_t at = find_port(url, &digits);
	char *rest = mem_text(url + at + digits);
	assert_true(snprintf(url + at, size - at, "%u%s", (unsigned)port, rest) < (int)(size - at));
	free(rest);
}

struct tcp_proxy *backend_fixture_proxy(char *url, size_t size)
{
	struct tcp_proxy *proxy = tcp_proxy_new(backend_fixture_port(url));
	backend_fixture_set_port(url, size, tcp_proxy_port(proxy));
	return proxy;
}

int64_t backend_fixture_now_ms(void)
{
	return clock_steady_us(clock_system()) / CLOCK_US_PER_MS;
}

void backend_fixture_wait(bool (*holds)(void *ctx), void *ctx, int64_t timeout_ms)
{
	int64_t until_ms = backend_fixture_now_ms() + timeout_ms;
	while (!holds(ctx)) {
		if (backend_fixture_now_ms() > until_ms)
			fail_msg("the condition did not hold within %lld ms",
			         (long long)timeout_ms);
		poll(NULL, 0, 20);
	}
}

int64_t backend_fixture_metric(struct metrics *metrics, const char *name)
{
	struct strbuf text;
	char line[128];
	strbuf_init(&text, 65536);
	metrics_render(metrics, &text);
	snprintf(line, sizeof(line), "\n%s ", name);
	const char *at = strstr(text.data, line);
	assert_non_null(at);
	int64_t value = strtoll(at + strlen(line), NULL, 10);
	strbuf_clear(&text);
	return value;
}

struct pg_conn *backend_fixture_pg(const struct backend_fixture *f)
{
	struct pg_conn *conn = NULL;
	assert_int_equal(
		pg_conn_open(f->pg_url, "test", TEST_DEADLINE_MS, TEST_DEADLINE_MS, f->log, &conn),
		OK);
	return conn;
}

int64_t backend_fixture_query_int(struct pg_conn *conn, const char *sql,
                                  const struct pg_params *params)
{
	struct pg_result *rows = NULL;
	assert_int_equal(pg_conn_query_once(conn, sql, params, &rows), OK);
	assert_int_equal(pg_result_count(rows), 1);
	int64_t value = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return value;
}
