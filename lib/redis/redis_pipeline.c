#include "lib/redis/redis_pipeline.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"

/* The pause between attempts to connect, so a dead Redis costs little. */
#define RETRY_MS 100

struct call {
	redis_pipeline_done done;
	void *ctx;
	int64_t deadline_us;
};

struct redis_pipeline {
	struct redis_pipeline_config config;
	struct redis_url url;
	/* NULL: the connector has been asked for one. */
	struct redis_conn *conn;
	/* A ring buffer of open calls, oldest at first. */
	struct call *calls;
	size_t first;
	size_t count;
	bool has_unsent;
	/* It leads to the wrong server. */
	bool must_reconnect;

	pthread_t connector;
	pthread_mutex_t mutex;
	pthread_cond_t request;
	/* Under the mutex: the loop needs a connection. */
	bool is_requested;
	/* Under the mutex. */
	bool stopping;
	/* A new connection for the loop. */
	struct redis_conn *_Atomic ready;
};

/* --- the connector's thread --- */

static void wait_before_retry(struct redis_pipeline *p)
{
	struct timespec until = thread_deadline_in_ms(RETRY_MS);
	if (!p->stopping)
		pthread_cond_timedwait(&p->request, &p->mutex, &until);
}

/* With the mutex held; releases it while connecting. */
static enum err connect_once(struct redis_pipeline *p)
{
	struct redis_conn *conn = NULL;
	char why[128], address[REDIS_URL_ADDRESS_SIZE];
	pthread_mutex_unlock(&p->mutex);
	enum err err = redis_conn_open(&p->url, p->config.ca_file, p->config.timeout_ms, &conn, why,
	                               sizeof(why));
	pthread_mutex_lock(&p->mutex);
	if (err == OK) {
		p->is_requested = false;
		atomic_store(&p->ready, conn);
	} else {
		log_limited_warning(p->config.log, "redis_pipeline_cannot_connect",
		                    LOG_TEXT("address", redis_url_address(&p->url, address)),
		                    LOG_TEXT("message", why));
	}
	return err;
}

static void *run_connector(void *arg)
{
	struct redis_pipeline *p = arg;
	pthread_mutex_lock(&p->mutex);
	while (!p->stopping) {
		if (!p->is_requested) {
			pthread_cond_wait(&p->request, &p->mutex);
			continue;
		}
		if (connect_once(p) != OK || p->is_requested)
			wait_before_retry(p);
	}
	pthread_mutex_unlock(&p->mutex);
	return NULL;
}

/* --- the loop's thread --- */

enum err redis_pipeline_new(const struct redis_pipeline_config *config, struct redis_pipeline **out)
{
	struct redis_url url;
	enum err err = redis_url_parse(config->url, &url);
	if (err != OK)
		return err;
	struct redis_pipeline *p = mem_zero(sizeof(*p));
	p->config = *config;
	p->url = url;
	p->calls = mem_array(config->in_flight_max, sizeof(*p->calls));
	p->is_requested = true;
	pthread_mutex_init(&p->mutex, NULL);
	thread_cond_init(&p->request);
	thread_spawn(&p->connector, "redis-connect", run_connector, p);
	*out = p;
	return OK;
}

static void complete_oldest(struct redis_pipeline *p, const struct redis_reply *reply)
{
	struct call oldest = p->calls[p->first];
	uint64_t run_id = reply ? redis_conn_run_id(p->conn) : 0;
	p->first = (p->first + 1) % p->config.in_flight_max;
	p->count--;
	oldest.done(oldest.ctx, reply, run_id);
}

/* Closes the connection, requests a new one, and ends the open calls. */
static void close_and_reconnect(struct redis_pipeline *p)
{
	redis_conn_close(p->conn);
	p->conn = NULL;
	p->has_unsent = false;
	p->must_reconnect = false;
	pthread_mutex_lock(&p->mutex);
	p->is_requested = true;
	pthread_cond_signal(&p->request);
	pthread_mutex_unlock(&p->mutex);
	/* A callback may call again, perhaps on a new connection: only present calls end. */
	for (size_t left = p->count; left > 0; left--)
		complete_oldest(p, NULL);
}

static void drop_connection(struct redis_pipeline *p)
{
	/* Every loop has a pipeline; what one of them says holds for all. */
	log_limited_warning(p->config.log, "redis_pipeline_connection_lost",
	                    LOG_TEXT("message", redis_conn_message(p->conn)));
	close_and_reconnect(p);
}

void redis_pipeline_free(struct redis_pipeline *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->stopping = true;
	pthread_cond_signal(&p->request);
	pthread_mutex_unlock(&p->mutex);
	pthread_join(p->connector, NULL);
	redis_conn_close(p->conn);
	p->conn = NULL;
	redis_conn_close(atomic_exchange(&p->ready, NULL));
	while (p->count > 0)
		complete_oldest(p, NULL);
	pthread_cond_destroy(&p->request);
	pthread_mutex_destroy(&p->mutex);
	free(p->calls);
	free(p);
}

enum err redis_pipeline_call(struct redis_pipeline *p, const struct redis_arg *args, size_t count,
                             redis_pipeline_done done, void *ctx)
{
	if (!p->conn)
		p->conn = atomic_exchange(&p->ready, NULL);
	if (!p->conn)
		return ERR_UNAVAILABLE;
	if (p->count == p->config.in_flight_max)
		return ERR_LIMIT;
	enum err err = redis_conn_push(p->conn, args, count);
	if (err != OK)
		return err;
	int64_t deadline_us =
		clock_steady_us(p->config.clock) + p->config.timeout_ms * CLOCK_US_PER_MS;
	p->calls[(p->first + p->count++) % p->config.in_flight_max] =
		(struct call){ done, ctx, deadline_us };
	p->has_unsent = true;
	return OK;
}

void redis_pipeline_require_run_id(struct redis_pipeline *p, uint64_t run_id)
{
	if (p->conn && redis_conn_run_id(p->conn) != run_id)
		p->must_reconnect = true;
}

int redis_pipeline_descriptor(const struct redis_pipeline *p, short *events)
{
	if (!p->conn)
		return -1;
	*events = p->has_unsent ? POLLIN | POLLOUT : POLLIN;
	return redis_conn_descriptor(p->conn);
}

int64_t redis_pipeline_deadline_us(const struct redis_pipeline *p)
{
	return p->count > 0 ? p->calls[p->first].deadline_us : INT64_MAX;
}

static enum err complete_replies(struct redis_pipeline *p)
{
	struct redis_reply *reply;
	enum err err;
	while ((err = redis_conn_pull(p->conn, &reply)) == OK) {
		if (p->count > 0)
			complete_oldest(p, reply);
		redis_reply_free(reply);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

void redis_pipeline_receive(struct redis_pipeline *p, bool is_readable)
{
	enum err err = OK;
	size_t waited = p->count;
	if (!p->conn)
		return;
	if (is_readable)
		err = redis_conn_read(p->conn);
	if (err == OK && is_readable)
		err = complete_replies(p);
	/* If replies arrived, the loop is late and not Redis; the socket may hold more of them. */
	if (err == OK && p->count == waited &&
	    redis_pipeline_deadline_us(p) <= clock_steady_us(p->config.clock))
		err = ERR_UNAVAILABLE;
	if (err != OK)
		drop_connection(p);
}

void redis_pipeline_send(struct redis_pipeline *p)
{
	if (p->conn && p->must_reconnect) {
		log_info(p->config.log, "redis_pipeline_changes_server",
		         LOG_INT("waiting", p->count));
		close_and_reconnect(p);
	}
	if (!p->conn || !p->has_unsent)
		return;
	bool is_done = false;
	if (redis_conn_write(p->conn, &is_done) != OK)
		drop_connection(p);
	else
		p->has_unsent = !is_done;
}
