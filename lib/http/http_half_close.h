/*
 * One thread at a time. Private to the http_* files. Ends half-closed connections: a peer that has
 * sent FIN sends no more bytes, so a request that is still incomplete never completes.
 *
 * The library reads a socket once for each edge of epoll. When the last bytes and the FIN arrive
 * together, it reads the bytes and never the end. So the loop watches each socket for EPOLLRDHUP in
 * an epoll instance of its own. As soon as the library has read everything, the loop shuts the
 * socket for reading. That is another edge: the library answers the requests that it has, reads the
 * end and closes the connection.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_HALF_CLOSE_H
#define WAYMARK_LIB_HTTP_HTTP_HALF_CLOSE_H

struct http_connection;
struct http_loop;

void http_half_close_watch(struct http_loop *loop, struct http_connection *c);

/* Needed before the socket is duplicated; closing the last descriptor is enough otherwise. */
void http_half_close_forget(struct http_loop *loop, struct http_connection *c);

/* Looks at c again in the next turn of the loop. */
void http_half_close_recheck(struct http_loop *loop, struct http_connection *c);

/* After each turn of the library in which the epoll instance was readable. */
void http_half_close_run(struct http_loop *loop);

#endif
