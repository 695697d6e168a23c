#include "services/redirector/gate/password_checker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/hash_table.h"
#include "lib/base/limiter.h"
#include "lib/base/mem.h"
#include "lib/base/password.h"
#include "lib/base/thread.h"
#include "lib/base/worker_pool.h"

/* A quarter of the places is for networks that have not been wrong. */
#define WAITING_MAX 256
#define WAITING_AFTER_WRONG_MAX (WAITING_MAX / 4 * 3)
/* Longer than the longest wait for the thread, at 200 ms for each hash. */
#define HOLD_US (60 * CLOCK_US_PER_S)
#define REMEMBERED_MAX 1024

static const struct limiter_rule wrong_rule = { PASSWORD_CHECKER_WRONG_MAX, 60 * CLOCK_US_PER_S };

struct password_checker {
	const struct clock *clock;
	struct limiter *wrong;
	struct worker_pool *worker;
	uint64_t flow_seed;
	uint8_t memory_key[DIGEST_SIZE];
	/* Guards remembered. */
	pthread_mutex_t lock;
	uint8_t remembered[REMEMBERED_MAX][DIGEST_SIZE];
	struct metric *verdicts[PASSWORD_VERDICTS];
};

struct subject {
	char text[CLIENT_IP_NETWORK_SIZE + 24];
	size_t len;
};

struct check {
	struct password_checker *checker;
	struct subject subject;
	char hash[PASSWORD_HASH_SIZE];
	char password[PASSWORD_SIZE];
	password_checker_callback on_done;
	void *ctx;
};

struct password_checker *password_checker_new(const struct clock *clock, struct metrics *metrics)
{
	static const char *const labels[PASSWORD_VERDICTS] = {
		[PASSWORD_RIGHT] = "result=\"right\"",
		[PASSWORD_WRONG] = "result=\"wrong\"",
		[PASSWORD_LIMITED] = "result=\"limited\"",
		[PASSWORD_BUSY] = "result=\"busy\"",
	};
	struct password_checker *checker = mem_zero(sizeof(*checker));
	checker->clock = clock;
	checker->wrong = limiter_new(clock);
	checker->worker = worker_pool_new_fair("password", 1, WAITING_MAX, 1);
	entropy_fill(&checker->flow_seed, sizeof(checker->flow_seed));
	entropy_fill(checker->memory_key, sizeof(checker->memory_key));
	pthread_mutex_init(&checker->lock, NULL);
	for (int i = 0; i < PASSWORD_VERDICTS; i++)
		checker->verdicts[i] =
			metrics_counter(metrics, "waymark_redirector_link_passwords_total",
		                        "Passwords of links by what became of them.", labels[i]);
	return checker;
}

void password_checker_free(struct password_checker *checker)
{
	if (!checker)
		return;
	worker_pool_free(checker->worker);
	limiter_free(checker->wrong);
	pthread_mutex_destroy(&checker->lock);
	explicit_bzero(checker, sizeof(*checker));
	free(checker);
}

static struct subject subject_of(const struct client_ip *visitor, int64_t link_id)
{
	struct subject subject;
	char network[CLIENT_IP_NETWORK_SIZE];
	client_ip_network(visitor, network);
	subject.len = (size_t)snprintf(subject.text, sizeof(subject.text), "%s %lld", network,
	                               (long long)link_id);
	return subject;
}

/* --- passwords that were right --- */

/* The hash has a salt of its own link, so it names the link and the version of its password. */
static uint8_t *place_of(struct password_checker *checker, const char *hash, const char *password,
                         uint8_t digest[static DIGEST_SIZE])
{
	char text[PASSWORD_HASH_SIZE + PASSWORD_SIZE];
	uint64_t place;
	int len = snprintf(text, sizeof(text), "%s %s", hash, password);
	digest_hmac_sha256(checker->memory_key, sizeof(checker->memory_key), text, (size_t)len,
	                   digest);
	explicit_bzero(text, sizeof(text));
	memcpy(&place, digest, sizeof(place));
	return checker->remembered[place % REMEMBERED_MAX];
}

static bool was_right(struct password_checker *checker, const char *hash, const char *password)
{
	uint8_t digest[DIGEST_SIZE];
	const uint8_t *place = place_of(checker, hash, password, digest);
	pthread_mutex_lock(&checker->lock);
	bool is_same = digest_equal(place, digest);
	pthread_mutex_unlock(&checker->lock);
	return is_same;
}

static void remember(struct password_checker *checker, const char *hash, const char *password)
{
	uint8_t digest[DIGEST_SIZE];
	uint8_t *place = place_of(checker, hash, password, digest);
	pthread_mutex_lock(&checker->lock);
	memcpy(place, digest, sizeof(digest));
	pthread_mutex_unlock(&checker->lock);
}

/* --- checking --- */

static void end(struct password_checker *checker, enum password_verdict verdict,
                password_checker_callback on_done, void *ctx)
{
	metrics_add(checker->verdicts[verdict], 1);
	on_done(ctx, verdict);
}

static void end_check(struct check *check, enum password_verdict verdict)
{
	struct password_checker *checker = check->checker;
	const struct subject *subject = &check->subject;
	if (verdict == PASSWORD_WRONG)
		limiter_add(checker->wrong, subject->text, subject->len, &wrong_rule, 1);
	limiter_release(checker->wrong, subject->text, subject->len);
	password_checker_callback on_done = check->on_done;
	void *ctx = check->ctx;
	explicit_bzero(check, sizeof(*check));
	free(check);
	end(checker, verdict, on_done, ctx);
}

static void run_check(void *arg)
{
	struct check *check = arg;
	thread_lower_priority();
	bool is_right = password_matches(check->password, check->hash, PASSWORD_COST_MIN);
	if (is_right)
		remember(check->checker, check->hash, check->password);
	end_check(check, is_right ? PASSWORD_RIGHT : PASSWORD_WRONG);
}

static void reject_check(void *arg)
{
	end_check(arg, PASSWORD_BUSY);
}

/* A place for the check is reserved at the limiter. */
static void submit(struct password_checker *checker, struct check *check)
{
	const struct subject *subject = &check->subject;
	size_t network_len = strcspn(subject->text, " ");
	struct fair_queue_job job = {
		/* 0 would be a flow without limits. */
		.flow = hash_table_hash(checker->flow_seed, subject->text, network_len) | 1,
		.is_first = limiter_owed_us(checker->wrong, subject->text, subject->len) == 0,
		.run = run_check,
		.reject = reject_check,
		.arg = check,
	};
	if (worker_pool_submit_job(checker->worker, &job, WAITING_AFTER_WRONG_MAX) != OK)
		reject_check(check);
}

void password_checker_start(struct password_checker *checker, const struct password_try *attempt,
                            password_checker_callback on_done, void *ctx)
{
	struct subject subject = subject_of(&attempt->visitor, attempt->link_id);
	size_t len = strnlen(attempt->password, PASSWORD_SIZE);
	/* Before memory is asked: it must not tell a network that has guessed too often. */
	if (limiter_reserve(checker->wrong, subject.text, subject.len, &wrong_rule, HOLD_US) !=
	    OK) {
		end(checker, PASSWORD_LIMITED, on_done, ctx);
		return;
	}
	struct check *check = mem_zero(sizeof(*check));
	*check = (struct check){
		.checker = checker, .subject = subject, .on_done = on_done, .ctx = ctx
	};
	snprintf(check->hash, sizeof(check->hash), "%s", attempt->hash);
	memcpy(check->password, attempt->password, len);
	if (len > PASSWORD_BYTES_MAX)
		end_check(check, PASSWORD_WRONG);
	else if (was_right(checker, check->hash, check->password))
		end_check(check, PASSWORD_RIGHT);
	else
		submit(checker, check);
}

int64_t password_checker_wait_s(struct password_checker *checker, const struct client_ip *visitor,
                                int64_t link_id)
{
	struct subject subject = subject_of(visitor, link_id);
	int64_t owed_us = limiter_owed_us(checker->wrong, subject.text, subject.len);
	int64_t wait_us = limiter_wait_us(&wrong_rule, owed_us);
	return wait_us < CLOCK_US_PER_S ? 1 : (wait_us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}
