/*
 * One thread at a time. A TCP proxy between a test and a server that the tests share: it can freeze (the server accepts
 * and says nothing more), cut (every connection ends) and refuse (nobody listens), without the server noticing.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_NET_TCP_PROXY_H
#define WAYMARK_TESTS_INTEGRATION_NET_TCP_PROXY_H

#include <stdint.h>

struct tcp_proxy;

enum tcp_proxy_mode { TCP_PROXY_FORWARD, TCP_PROXY_FREEZE, TCP_PROXY_REFUSE };

/* In front of 127.0.0.1:port. Fails the test when it cannot be had. */
struct tcp_proxy *tcp_proxy_new(uint16_t port);
void tcp_proxy_free(struct tcp_proxy *p);

uint16_t tcp_proxy_port(const struct tcp_proxy *p);

/* In force when it returns. TCP_PROXY_REFUSE also cuts. */
void tcp_proxy_set(struct tcp_proxy *p, enum tcp_proxy_mode mode);
/* Ends every connection that stands now. */
void tcp_proxy_cut(struct tcp_proxy *p);
/* New connections go to 127.0.0.1:port from now on; those that stand are left alone. */
void tcp_proxy_aim(struct tcp_proxy *p, uint16_t port);
/* Connections accepted so far. */
uint64_t tcp_proxy_accepted(const struct tcp_proxy *p);

#endif
