#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/http/http_internal.h"
#include "tests/support/test.h"

static struct http_server_config config_of(const char *address, uint16_t port, size_t count)
{
	return (struct http_server_config){
		.address = address, .port = port, .loops = count, .idle_ms = 1000
	};
}

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(fds[i]);
}

static bool can_connect(int family, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		                  .sin_port = htons(port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		                   .sin6_port = htons(port),
		                   .sin6_addr = in6addr_loopback };
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool connected = fd >= 0 &&
	                 (family == AF_INET ? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
	                                    : connect(fd, (struct sockaddr *)&v6, sizeof(v6))) == 0;
	if (fd >= 0)
		close(fd);
	return connected;
}

static bool machine_has_ipv6(void)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool has = fd >= 0 && bind(fd, (struct sockaddr *)&v6, sizeof(v6)) == 0;
	if (fd >= 0)
		close(fd);
	return has;
}

TEST_CASE(listens_on_every_address)
{
	struct http_server_config config = config_of(NULL, 0, 1);
	uint16_t port = 0;
	int fd = -1;
	assert_int_equal(http_server_listen(&config, &fd, &port), OK);
	assert_true(port > 0);
	assert_true(can_connect(AF_INET, port));
	assert_int_equal(can_connect(AF_INET6, port), machine_has_ipv6());
	close(fd);
}

TEST_CASE(shares_one_port_among_its_sockets)
{
	struct http_server_config config = config_of("127.0.0.1", 0, 3);
	uint16_t port = 0;
	int fds[3] = { -1, -1, -1 };
	assert_int_equal(http_server_listen(&config, fds, &port), OK);
	for (size_t i = 0; i < 3; i++) {
		struct sockaddr_in bound = { 0 };
		socklen_t len = sizeof(bound);
		assert_int_equal(getsockname(fds[i], (struct sockaddr *)&bound, &len), 0);
		assert_int_equal(ntohs(bound.sin_port), port);
	}
	/* the kernel spreads connections, so each socket gets some of many */
	bool got[3] = { false };
	for (unsigned tries = 0; tries < 1000 && !(got[0] && got[1] && got[2]); tries++) {
		assert_true(can_connect(AF_INET, port));
		for (size_t i = 0; i < 3; i++) {
			int accepted = accept(fds[i], NULL, NULL);
			if (accepted >= 0) {
				got[i] = true;
				close(accepted);
			}
		}
	}
	assert_true(got[0] && got[1] && got[2]);
	close_all(fds, 3);
}

TEST_CASE(does_not_share_the_port_with_other_sockets)
{
	for (size_t count = 1; count <= 2; count++) {
		struct http_server_config config = config_of("127.0.0.1", 0, count);
		uint16_t port = 0, other = 7;
		int fds[2] = { -1, -1 }, others[2];
		assert_int_equal(http_server_listen(&config, fds, &port), OK);
		for (size_t other_count = 1; other_count <= 2; other_count++) {
			config = config_of("127.0.0.1", port, other_count);
			assert_int_equal(http_server_listen(&config, others, &other),
			                 ERR_UNAVAILABLE);
			assert_int_equal(other, 7);
		}
		close_all(fds, count);
	}
}

TEST_CASE(rejects_a_malformed_address)
{
	struct http_server_config config = config_of("localhost", 0, 1);
	uint16_t port;
	int fd;
	assert_int_equal(http_server_listen(&config, &fd, &port), ERR_UNAVAILABLE);
}

TEST_MAIN()
