#include "lib/net/redis_pipeline.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/deadline.h"
#include "lib/base/mem.h"

/* Between attempts to connect, so that a dead Redis costs nothing. */
#define PAUSE_MS 100

struct waiting {
	redis_pipeline_done done;
	void *ctx;
	int64_t deadline_us;
};

struct redis_pipeline {
	struct redis_pipeline_config config;
	struct redis_url url;
	struct redis_conn *conn; /* NULL: the connector is at work */
	struct waiting *ring;    /* in the order of the calls */
	size_t first;
	size_t count;
	bool has_unsent;
	bool is_unwanted; /* another server is demanded */

	pthread_t connector;
	pthread_mutex_t mutex;
	pthread_cond_t wanted;
	bool wants;                       /* under the mutex: the loop has no connection */
	bool stopping;                    /* under the mutex */
	struct redis_conn *_Atomic ready; /* made, to be taken by the loop */
};

/* --- the connector's thread --- */

static void pause_connecting(struct redis_pipeline *p)
{
	struct timespec until = deadline_in_ms(PAUSE_MS);
	if (!p->stopping)
		pthread_cond_timedwait(&p->wanted, &p->mutex, &until);
}

/* With the mutex held, but not while it connects. */
static void connect_once(struct redis_pipeline *p, bool *was_away)
{
	struct redis_conn *conn = NULL;
	char why[128];
	pthread_mutex_unlock(&p->mutex);
	enum err err = redis_conn_open(&p->url, p->config.timeout_ms, &conn, why, sizeof(why));
	pthread_mutex_lock(&p->mutex);
	if (err == OK) {
		p->wants = false;
		atomic_store(&p->ready, conn);
	} else if (!*was_away) {
		log_warning(p->config.log, "redis_pipeline_away", LOG_TEXT("message", why));
	}
	*was_away = err != OK;
}

static void *connect_when_wanted(void *arg)
{
	struct redis_pipeline *p = arg;
	bool was_away = false;
	pthread_mutex_lock(&p->mutex);
	while (!p->stopping) {
		if (!p->wants) {
			pthread_cond_wait(&p->wanted, &p->mutex);
			continue;
		}
		connect_once(p, &was_away);
		if (p->wants || was_away)
			pause_connecting(p);
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
	p->ring = mem_array(config->in_flight_max, sizeof(*p->ring));
	p->wants = true;
	pthread_mutex_init(&p->mutex, NULL);
	deadline_cond_init(&p->wanted);
	if (pthread_create(&p->connector, NULL, connect_when_wanted, p) != 0)
		abort();
	pthread_setname_np(p->connector, "redis-connect");
	*out = p;
	return OK;
}

static void end_oldest(struct redis_pipeline *p, const struct redis_reply *reply)
{
	struct waiting oldest = p->ring[p->first];
	uint64_t server = reply ? redis_conn_server(p->conn) : 0;
	p->first = (p->first + 1) % p->config.in_flight_max;
	p->count--;
	oldest.done(oldest.ctx, reply, server);
}

/* Nothing of this connection will be answered any more; a new one is asked for. */
static void leave(struct redis_pipeline *p)
{
	redis_conn_close(p->conn);
	p->conn = NULL;
	p->has_unsent = false;
	p->is_unwanted = false;
	pthread_mutex_lock(&p->mutex);
	p->wants = true;
	pthread_cond_signal(&p->wanted);
	pthread_mutex_unlock(&p->mutex);
	/* Those who are told may call again, perhaps on a new connection already. */
	for (size_t left = p->count; left > 0; left--)
		end_oldest(p, NULL);
}

static void give_connection_up(struct redis_pipeline *p)
{
	log_warning(p->config.log, "redis_pipeline_broken", LOG_TEXT("message", redis_conn_message(p->conn)),
	            LOG_INT("waiting", p->count));
	leave(p);
}

void redis_pipeline_free(struct redis_pipeline *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->stopping = true;
	pthread_cond_signal(&p->wanted);
	pthread_mutex_unlock(&p->mutex);
	pthread_join(p->connector, NULL);
	redis_conn_close(p->conn);
	p->conn = NULL;
	redis_conn_close(atomic_exchange(&p->ready, NULL));
	while (p->count > 0)
		end_oldest(p, NULL);
	pthread_cond_destroy(&p->wanted);
	pthread_mutex_destroy(&p->mutex);
	free(p->ring);
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
	int64_t deadline_us = clock_steady_us(p->config.clock) + p->config.timeout_ms * CLOCK_US_PER_MS;
	p->ring[(p->first + p->count++) % p->config.in_flight_max] = (struct waiting){ done, ctx, deadline_us };
	p->has_unsent = true;
	return OK;
}

void redis_pipeline_demand(struct redis_pipeline *p, uint64_t server)
{
	if (p->conn && redis_conn_server(p->conn) != server)
		p->is_unwanted = true;
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
	return p->count > 0 ? p->ring[p->first].deadline_us : INT64_MAX;
}

static enum err hand_out_replies(struct redis_pipeline *p)
{
	struct redis_reply *reply;
	enum err err;
	while ((err = redis_conn_pull(p->conn, &reply)) == OK) {
		if (p->count > 0)
			end_oldest(p, reply);
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
		err = hand_out_replies(p);
	/* While replies come, it is the loop that is late, not Redis: there may be more of them in the socket. */
	if (err == OK && p->count == waited && redis_pipeline_deadline_us(p) <= clock_steady_us(p->config.clock))
		err = ERR_UNAVAILABLE;
	if (err != OK)
		give_connection_up(p);
}

void redis_pipeline_send(struct redis_pipeline *p)
{
	if (p->conn && p->is_unwanted) {
		log_info(p->config.log, "redis_pipeline_leaves_server", LOG_INT("waiting", p->count));
		leave(p);
	}
	if (!p->conn || !p->has_unsent)
		return;
	bool is_done = false;
	if (redis_conn_write(p->conn, &is_done) != OK)
		give_connection_up(p);
	else
		p->has_unsent = !is_done;
}
