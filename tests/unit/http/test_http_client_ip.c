#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

struct fixture {
	struct http_fixture server;
	struct http_fixture_response answer;
	struct client_ip_ranges trusted;
	char header[HTTP_SERVER_HEADER_NAME_SIZE];
	struct client_ip visitor;
};

/* ctx is the http_fixture, which is the first member of struct fixture. */
static enum http_progress find_the_client(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	f->visitor = http_exchange_client_ip(x);
	return HTTP_COMPLETE;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_server_config config = http_fixture_config();
	config.trusted = &f->trusted;
	config.client_ip_header = f->header;
	snprintf(f->header, sizeof(f->header), "X-Forwarded-For");
	http_fixture_start(&f->server, config, find_the_client);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	http_fixture_stop(&f->server, 1000);
	free(f);
	return 0;
}

static void get(struct fixture *f, const char *headers)
{
	char *request = NULL;
	assert_true(asprintf(&request, "GET /a HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n", headers) > 0);
	http_fixture_request(&f->server, request, &f->answer);
	free(request);
	assert_int_equal(f->answer.status, 200);
}

static void assert_visitor(const struct fixture *f, const char *text)
{
	char shown[CLIENT_IP_TEXT_SIZE];
	client_ip_format(&f->visitor, shown);
	assert_string_equal(shown, text);
}

TEST_CASE(ignores_x_forwarded_for_of_untrusted_peers)
{
	struct fixture *f = *state;
	f->trusted.count = 0;
	get(f, "X-Forwarded-For: 203.0.113.7\r\n");
	assert_visitor(f, "127.0.0.1");
}

TEST_CASE(trusts_a_trusted_proxy_about_the_address_before_it)
{
	struct fixture *f = *state;
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8, 10.0.0.0/8", &f->trusted), OK);
	get(f, "X-Forwarded-For: 203.0.113.7\r\n");
	assert_visitor(f, "203.0.113.7");
	get(f, "X-Forwarded-For: 198.51.100.1, 203.0.113.7, 10.1.2.3\r\n");
	assert_visitor(f, "203.0.113.7");
	/* in two header lines, of which the visitor sent the first */
	get(f, "X-Forwarded-For: 198.51.100.1\r\nX-Forwarded-For: 203.0.113.7\r\n");
	assert_visitor(f, "203.0.113.7");
}

TEST_CASE(knows_no_address_behind_a_proxy_that_forwards_none)
{
	struct fixture *f = *state;
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8", &f->trusted), OK);
	get(f, "");
	assert_false(f->visitor.known);
}

/* header: the variable. sent: the lines of the request. client: "": none is known. */
static const struct {
	const char *header;
	const char *sent;
	const char *client;
} named[] = {
	{ "X-Real-IP", "X-Real-IP: 203.0.113.7\r\n", "203.0.113.7" },
	{ "x-real-ip", "X-REAL-IP: 203.0.113.7\r\n", "203.0.113.7" },
	{ "CF-Connecting-IP", "CF-Connecting-IP: 2001:db8::7\r\n", "2001:db8::7" },
	{ "True-Client-IP", "True-Client-IP: [2001:db8::7]:4711\r\n", "2001:db8::7" },
	{ "Fly-Client-IP", "Fly-Client-IP: 203.0.113.7:4711 \r\n", "203.0.113.7" },
	{ "X-Envoy-External-Address", "X-Envoy-External-Address: ::ffff:203.0.113.7\r\n",
	  "203.0.113.7" },
	/* no other header counts, and above all none that anybody may send */
	{ "X-Real-IP", "X-Forwarded-For: 203.0.113.7\r\n", "" },
	{ "X-Real-IP", "X-Forwarded-For: 198.51.100.1\r\nX-Real-IP: 203.0.113.7\r\n",
	  "203.0.113.7" },
	{ "X-Forwarded-For", "X-Real-IP: 198.51.100.1\r\nX-Forwarded-For: 203.0.113.7\r\n",
	  "203.0.113.7" },
	/* a proxy that adds a line below that of the client */
	{ "X-Real-IP", "X-Real-IP: 198.51.100.1\r\nX-Real-IP: 203.0.113.7\r\n", "203.0.113.7" },
	{ "X-Real-IP", "X-Real-IP: \r\n", "" },
	{ "X-Real-IP", "X-Real-IP: unknown\r\n", "" },
	{ "CF-Connecting-IP", "CF-Connecting-IP: 203.0.113.7; 1\r\n", "" },
};

TEST_CASE(reads_the_client_from_the_header_that_the_configuration_names)
{
	struct fixture *f = *state;
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8", &f->trusted), OK);
	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		snprintf(f->header, sizeof(f->header), "%s", named[i].header);
		get(f, named[i].sent);
		assert_visitor(f, named[i].client);
	}
	f->trusted.count = 0;
	snprintf(f->header, sizeof(f->header), "X-Real-IP");
	get(f, "X-Real-IP: 203.0.113.7\r\n");
	assert_visitor(f, "127.0.0.1");
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
