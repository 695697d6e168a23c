/*
 * A blocking client of links-api with one keep-alive connection. It never sends a request twice, so
 * the caller knows what may have been done. One thread at a time.
 */
#ifndef WAYMARK_TESTS_CHAOS_FRESHNESS_API_CLIENT_H
#define WAYMARK_TESTS_CHAOS_FRESHNESS_API_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define API_CLIENT_TIMEOUT_S 10
#define API_CLIENT_BODY_SIZE 8192

struct api_client;

struct api_client *api_client_new(uint16_t port, const char *token);
void api_client_free(struct api_client *client);

enum api_client_outcome {
	API_CLIENT_ANSWERED,
	API_CLIENT_NOT_SENT, /* no connection: nothing was done */
	API_CLIENT_CUT, /* sent, but no answer came within API_CLIENT_TIMEOUT_S: it may have been
	                   done */
};

struct api_client_request {
	const char *method;
	const char *path;
	/* JSON; NULL = none. */
	const char *body;
	/* Version; 0 = none. */
	int64_t if_match;
	/* Without the token. */
	bool is_anonymous;
};

struct api_client_answer {
	unsigned status;
	/* Before the request left. */
	int64_t begin_us;
	/* After the answer was complete. */
	int64_t end_us;
	size_t body_len;
	/* Cut if longer. */
	char body[API_CLIENT_BODY_SIZE];
};

enum api_client_outcome api_client_call(struct api_client *client,
                                        const struct api_client_request *request,
                                        struct api_client_answer *answer);

#endif
