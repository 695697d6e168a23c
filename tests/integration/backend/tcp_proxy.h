/*
 * One thread at a time. A TCP proxy between a test and a server that tests share. It can freeze
 * (connections are accepted but nothing is forwarded), cut (every connection ends) and refuse
 * (nothing listens), without affecting the server.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_BACKEND_TCP_PROXY_H
#define WAYMARK_TESTS_INTEGRATION_BACKEND_TCP_PROXY_H

#include <stdint.h>

struct tcp_proxy;

enum tcp_proxy_mode { TCP_PROXY_FORWARD, TCP_PROXY_FREEZE, TCP_PROXY_REFUSE };

/* Starts a proxy for 127.0.0.1:port, or fails the test. */
struct tcp_proxy *tcp_proxy_new(uint16_t port);
void tcp_proxy_free(struct tcp_proxy *p);

uint16_t tcp_proxy_port(const struct tcp_proxy *p);

/* Takes effect before it returns. TCP_PROXY_REFUSE also cuts. */
void tcp_proxy_set_mode(struct tcp_proxy *p, enum tcp_proxy_mode mode);
/* Ends every open connection. */
void tcp_proxy_cut(struct tcp_proxy *p);
/* Sends new connections to 127.0.0.1:port from now on. Open connections do not change. */
void tcp_proxy_set_target(struct tcp_proxy *p, uint16_t port);
/* Connections accepted so far. */
uint64_t tcp_proxy_accepted(const struct tcp_proxy *p);

#endif
