#include "lib/redis/redis_pool.h"

#include <pthread.h>
#include <stdatomic.h>

#include "lib/base/array.h"
#include "lib/base/conn_pool.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/redis/redis_conn.h"

#define CHECK_MS 1000
#define CHECK_FAILING_MS 100
/* No visitor waits for the health check, so a busy machine may delay it for longer. */
#define PROBE_MS_MIN 200

struct redis_pool {
	struct redis_pool_config config;
	struct redis_url url;
	struct conn_pool *conns;
	/* Protects reconnects. */
	pthread_mutex_t mutex;
	uint64_t reconnects;
	/* Of the server that the newest connection leads to. */
	_Atomic uint64_t run_id;
};

static uint64_t count_reconnects(struct redis_pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	uint64_t reconnects = pool->reconnects;
	pthread_mutex_unlock(&pool->mutex);
	return reconnects;
}

/* A connection that was begun before a reconnect may lead to the former server. */
static void store_run_id(struct redis_pool *pool, uint64_t run_id, uint64_t reconnects)
{
	pthread_mutex_lock(&pool->mutex);
	if (pool->reconnects == reconnects)
		atomic_store(&pool->run_id, run_id);
	pthread_mutex_unlock(&pool->mutex);
}

static enum err open_conn(void *ctx, bool for_health_check, void **out)
{
	(void)for_health_check;
	struct redis_pool *pool = ctx;
	struct redis_conn *conn = NULL;
	char why[128] = "", address[REDIS_URL_ADDRESS_SIZE];
	uint64_t reconnects = count_reconnects(pool);
	enum err err = redis_conn_open(&pool->url, pool->config.ca_file, pool->config.timeout_ms,
	                               &conn, why, sizeof(why));
	if (err == OK) {
		*out = conn;
		store_run_id(pool, redis_conn_run_id(conn), reconnects);
	} else {
		log_limited_warning(pool->config.log, "redis_cannot_connect",
		                    LOG_TEXT("address", redis_url_address(&pool->url, address)),
		                    LOG_TEXT("message", why));
	}
	return err;
}

static void close_conn(void *conn)
{
	redis_conn_close(conn);
}

static bool is_alive(void *conn)
{
	return redis_conn_is_alive(conn);
}

static enum err probe(void *ctx, void *conn)
{
	const struct redis_pool *pool = ctx;
	const struct redis_arg ping = REDIS_TEXT("PING");
	struct redis_reply *reply = NULL;
	int64_t timeout_ms = pool->config.timeout_ms;
	if (timeout_ms < PROBE_MS_MIN)
		timeout_ms = PROBE_MS_MIN;
	enum err err = redis_conn_call(conn, &ping, 1, timeout_ms, &reply);
	if (err == OK && redis_reply_error(reply))
		err = ERR_UNAVAILABLE;
	redis_reply_free(reply);
	return err;
}

static bool is_usable(const void *conn)
{
	return redis_conn_is_usable(conn);
}

static bool timed_out(const void *conn)
{
	return redis_conn_timed_out(conn);
}

static const struct conn_pool_kind kind = {
	.open = open_conn,
	.close = close_conn,
	.is_alive = is_alive,
	.probe = probe,
	.is_usable = is_usable,
	.timed_out = timed_out,
	.thread_name = "redis-health",
	.event_reachable = "redis_reachable_again",
	.event_unreachable = "redis_cannot_connect",
	.busy_metric = "waymark_redis_connections_busy",
	.max_metric = "waymark_redis_connections_max",
	.reachable_metric = "waymark_redis_reachable",
	.failures_metric = "waymark_redis_connect_failures_total",
	.waits_metric = "waymark_redis_wait_timeouts_total",
};

enum err redis_pool_new(const struct redis_pool_config *config, struct redis_pool **out)
{
	struct redis_url url;
	if (redis_url_parse(config->url, &url) != OK)
		return ERR_INVALID;
	struct redis_pool *pool = mem_zero(sizeof(*pool));
	pool->config = *config;
	pool->url = url;
	pthread_mutex_init(&pool->mutex, NULL);
	pool->conns = conn_pool_new(&(struct conn_pool_config){
		.kind = &kind,
		.ctx = pool,
		.max = config->max,
		.wait_ms = config->timeout_ms,
		.connect_timeout_ms = config->timeout_ms,
		.check_ms = CHECK_MS,
		.check_failing_ms = CHECK_FAILING_MS,
		.clock = config->clock,
		.log = config->log,
		.metrics = config->metrics,
	});
	*out = pool;
	return OK;
}

void redis_pool_free(struct redis_pool *pool)
{
	if (!pool)
		return;
	conn_pool_free(pool->conns);
	pthread_mutex_destroy(&pool->mutex);
	free(pool);
}

uint64_t redis_pool_run_id(const struct redis_pool *pool)
{
	return atomic_load(&pool->run_id);
}

void redis_pool_reconnect(struct redis_pool *pool)
{
	pthread_mutex_lock(&pool->mutex);
	pool->reconnects++;
	atomic_store(&pool->run_id, 0);
	pthread_mutex_unlock(&pool->mutex);
}

bool redis_pool_is_reachable(void *ctx)
{
	const struct redis_pool *pool = ctx;
	return conn_pool_is_reachable(pool->conns);
}

static bool has_code(const char *text, const char *word)
{
	size_t len = strlen(word);
	return strncmp(text, word, len) == 0 && (text[len] == ' ' || text[len] == '\0');
}

/* Maps an error reply, which begins with its code in capitals. */
static enum err error_of_reply(const char *error)
{
	static const char *const transient[] = { "LOADING",  "READONLY",   "MASTERDOWN", "OOM",
		                                 "BUSY",     "NOREPLICAS", "MISCONF",    "NOAUTH",
		                                 "TRYAGAIN", "CLUSTERDOWN" };
	for (size_t i = 0; i < ARRAY_SIZE(transient); i++) {
		if (has_code(error, transient[i]))
			return ERR_UNAVAILABLE;
	}
	return ERR_INTERNAL;
}

/* Returns the reply, or maps an error reply to an error. Frees a reply that is not returned. */
static enum err finish(struct redis_pool *pool, struct redis_reply *got, struct redis_reply **reply)
{
	const char *error = redis_reply_error(got);
	enum err err = OK;
	if (error) {
		err = error_of_reply(error);
		log_limited_error(pool->config.log, "redis_error_reply",
		                  LOG_TEXT("message", error));
	}
	if (err == OK && reply)
		*reply = got;
	else
		redis_reply_free(got);
	return err;
}

/* Runs a command on a connection, and logs a failure. */
static enum err exchange(struct redis_pool *pool, struct redis_conn *conn, int64_t timeout_ms,
                         const struct redis_arg *args, size_t count, struct redis_reply **got)
{
	enum err err = redis_conn_call(conn, args, count, timeout_ms, got);
	if (err != OK && conn_pool_is_reachable(pool->conns))
		log_limited_warning(pool->config.log, "redis_call_failed",
		                    LOG_TEXT("message", redis_conn_message(conn)));
	/* A master turned replica keeps its clients; a new connection may find the new one. */
	const char *error = err == OK ? redis_reply_error(*got) : NULL;
	if ((error && has_code(error, "READONLY")) ||
	    redis_conn_run_id(conn) != atomic_load(&pool->run_id))
		redis_conn_invalidate(conn);
	return err;
}

enum err redis_pool_call(struct redis_pool *pool, const struct redis_arg *args, size_t count,
                         struct redis_reply **reply, uint64_t *run_id)
{
	return redis_pool_call_within(pool, pool->config.timeout_ms, args, count, reply, run_id);
}

enum err redis_pool_call_within(struct redis_pool *pool, int64_t timeout_ms,
                                const struct redis_arg *args, size_t count,
                                struct redis_reply **reply, uint64_t *run_id)
{
	void *conn = NULL;
	enum err err = conn_pool_acquire(pool->conns, &conn);
	if (err != OK)
		return err;
	struct redis_reply *got = NULL;
	err = exchange(pool, conn, timeout_ms, args, count, &got);
	if (run_id)
		*run_id = redis_conn_run_id(conn);
	conn_pool_release(pool->conns, conn);
	return err == OK ? finish(pool, got, reply) : err;
}

enum err redis_pool_script(struct redis_pool *pool, const char *script, size_t key_count,
                           const struct redis_arg *args, size_t count, struct redis_reply **reply,
                           uint64_t *run_id)
{
	struct redis_arg *command = mem_array(count + 3, sizeof(*command));
	char keys[24];
	snprintf(keys, sizeof(keys), "%zu", key_count);
	command[0] = REDIS_TEXT("EVAL");
	command[1] = REDIS_TEXT(script);
	command[2] = REDIS_TEXT(keys);
	for (size_t i = 0; i < count; i++)
		command[i + 3] = args[i];
	enum err err = redis_pool_call(pool, command, count + 3, reply, run_id);
	free(command);
	return err;
}
