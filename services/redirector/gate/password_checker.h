/*
 * Safe from any thread. Compares passwords of links with their hashes, apart from everything else
 * that the redirector does:
 *
 *   - One thread of low priority runs bcrypt, so that guesses cost plain links nothing but idle time
 *     of a processor.
 *   - Networks (client_ip_network) take turns at it (fair_queue.h). One that has not been wrong at a
 *     link lately goes before others, so its owner passes a flood of guesses from elsewhere.
 *   - After PASSWORD_CHECKER_WRONG_MAX wrong passwords within a minute, a network must wait at this
 *     link. Others do not notice. Each redirector counts for itself.
 *   - A password that was right is remembered as a keyed hash, in memory only, until others take its
 *     place. It is right again without bcrypt.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_GATE_PASSWORD_CHECKER_H
#define WAYMARK_SERVICES_REDIRECTOR_GATE_PASSWORD_CHECKER_H

#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/metrics.h"

/* Per minute, network and link. */
#define PASSWORD_CHECKER_WRONG_MAX 5

struct password_checker;

enum password_verdict {
	PASSWORD_RIGHT,
	PASSWORD_WRONG,
	/* The network must wait (password_checker_wait_s); the password was not looked at. */
	PASSWORD_LIMITED,
	/* Too many passwords wait for the thread; it was not looked at. */
	PASSWORD_BUSY,
	PASSWORD_VERDICTS,
};

struct password_checker *password_checker_new(const struct clock *clock, struct metrics *metrics);
/* Checks what still waits. NULL is allowed. */
void password_checker_free(struct password_checker *checker);

struct password_try {
	struct client_ip visitor;
	int64_t link_id;
	/* Of lib/base/password.h. */
	const char *hash;
	/* At most PASSWORD_BYTES_MAX bytes; a longer one is wrong. */
	const char *password;
};

typedef void (*password_checker_callback)(void *ctx, enum password_verdict verdict);

/* Copies the try. Calls on_done once, perhaps before it returns, perhaps in another thread. */
void password_checker_start(struct password_checker *checker, const struct password_try *attempt,
                            password_checker_callback on_done, void *ctx);

/* Seconds until the network may try a password of the link, at least 1. */
int64_t password_checker_wait_s(struct password_checker *checker, const struct client_ip *visitor,
                                int64_t link_id);

#endif
