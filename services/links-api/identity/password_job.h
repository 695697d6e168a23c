/*
 * Passwords on their way through the doors of the service: limits of wrong ones, then a queue to the
 * few threads that run bcrypt. Not thread-safe: one thread at a time per request.
 *
 * Only wrong passwords count. A running attempt reserves a place, so parallel attempts cannot exceed
 * a limit. Nobody can lock anybody else out:
 * - A login counts for its account and network together (LOGIN_FAILURES in 15 minutes).
 * - From a network where the account has not logged in lately, it also counts for the network alone
 *   (LOGIN_FAILURES_PER_NETWORK in an hour) and for the account alone (LOGIN_FAILURES_PER_ACCOUNT
 *   in 15 minutes).
 * - A password that is sent with an access token or a session counts for that only.
 * - A wrong code of the second factor counts only after the right password, so strangers use up
 *   nothing: for account and network (LOGIN_FAILURES in 15 minutes), and from networks where the
 *   account has not logged in lately for the account (LOGIN_FAILURES_PER_ACCOUNT in a day: a guess is
 *   right once in 333,333). Recovery codes do not count for the account, and are a way in whoever
 *   guesses.
 *
 * Nobody can keep anybody else waiting: the flow of a job (fair_queue.h) is its account, whatever the
 * door and however many networks, tokens and shares the account has. An account has one first place,
 * for its own password from a known network or with a token; readers of shares have none. Each kind
 * may fill only its part of PASSWORD_QUEUE, so a crowd of one leaves room for the next.
 *
 *   door        flow                         first   part              counts for
 *   REGISTER    the network                  no      half              the network (ACCOUNTS_PER_HOUR)
 *   NEW_GUARD   the account                  no      half              nothing; the password of a share
 *                                                                      or a link
 *   RESET       the account                  no      three quarters    nothing
 *   SHARE       all readers of its sponsor   no      three quarters    as a login, of the share
 *   LOGIN       the account, or the network  yes     three quarters    see above
 *               if there is no such account
 *   TOKEN       the account                  yes     three quarters    see above
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_PASSWORD_JOB_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_PASSWORD_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/digest.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/request.h"

struct user;

enum password_door {
	PASSWORD_DOOR_REGISTER,
	PASSWORD_DOOR_NEW_GUARD,
	PASSWORD_DOOR_RESET,
	PASSWORD_DOOR_SHARE,
	PASSWORD_DOOR_LOGIN,
	PASSWORD_DOOR_TOKEN,
};

#define PASSWORD_JOB_PLACES_MAX 3

/* One limit that an attempt counts for. */
struct password_job_place {
	struct rate_limit_rule rule;
	char subject[RATE_LIMIT_SUBJECT_MAX + 1];
	struct rate_limit_reservation reservation;
};

/* The first member of the state of a request that waits for a password thread. */
struct password_job {
	struct request *request;
	/* Of the whole state. */
	size_t size;
	void (*run)(void *state);
	/* Releases what the state owns; NULL = nothing. Set it before password_job_submit. */
	void (*clear)(void *state);
	enum password_door door;
	/* Of a login or share: a digest, to keep it out of Redis. */
	char subject[2 * DIGEST_SIZE + 1];
	struct password_job_place places[PASSWORD_JOB_PLACES_MAX];
	size_t place_count;
};

/* Zeroed. size: of a struct that begins with a struct password_job. */
void *password_job_new(struct request *r, size_t size);
/* Calls clear, and overwrites the whole state. */
void password_job_free(void *state);

/*
 * Takes ownership of the state. HTTP_PENDING: run completes the response later, in a password thread.
 * HTTP_COMPLETE: the response is complete. Then, or if a job of another account takes the place
 * later, it is 429 "rate-limit" after too many wrong passwords or registrations, and otherwise 429
 * "busy" with Retry-After: 1.
 *
 * account_id: of the account, or of the sponsor of the share; 0 = unknown. name: what a login or a share
 * is counted under: the e-mail address, or "share:7" for share 7; NULL for other doors.
 */
enum http_progress password_job_submit(void *state, enum password_door door, int64_t account_id,
                                       const char *name, void (*run)(void *state));

/*
 * For run: checks the password and counts it if it is wrong. hash: of the account or share; NULL = there
 * is none, which takes as long. The network of a right one becomes known for a share.
 */
bool password_job_matches(struct password_job *job, const char *password, const char *hash);

/*
 * For run, after the right password of an account with a second factor: uses up the code that was
 * typed, and counts it if it is wrong: ERR_NOT_FOUND, a "wrong-code". After another error the response
 * is complete.
 */
#define PASSWORD_JOB_WRONG_CODE                                                                    \
	"The code is wrong, too old, or was used before. Take the next one of the app, or a "      \
	"recovery code."
enum err password_job_use_code(struct password_job *job, const struct user *user,
                               const char *typed) MUST_CHECK;

/*
 * Call after a registration, and after a login with all that it needs: its network becomes known for
 * the account.
 */
void password_job_remember_network(struct request *r, const char *email);

#endif
