#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/http/http_guard.h"
#include "lib/http/http_internal.h"

/* A connection keeps buffers up to this size between requests and frees larger ones. */
#define BUFFER_KEPT HTTP_EXCHANGE_SMALL_BODY_BYTES

void http_exchange_init(struct http_exchange *x, struct http_loop *loop, size_t body_bytes_max)
{
	*x = (struct http_exchange){ .loop = loop };
	strbuf_init(&x->query, HTTP_EXCHANGE_HEADER_BYTES_MAX);
	strbuf_init(&x->joined, HTTP_EXCHANGE_HEADER_BYTES_MAX);
	strbuf_init(&x->body, body_bytes_max);
	strbuf_init(&x->header_bytes, HTTP_EXCHANGE_HEADER_BYTES_MAX);
	strbuf_init(&x->response_body, HTTP_EXCHANGE_RESPONSE_BYTES_MAX);
}

void http_exchange_clear(struct http_exchange *x)
{
	strbuf_clear(&x->query);
	strbuf_clear(&x->joined);
	strbuf_clear(&x->body);
	strbuf_clear(&x->header_bytes);
	strbuf_clear(&x->response_body);
}

static void empty_buffer(struct strbuf *b)
{
	size_t limit = b->limit;
	if (b->capacity > BUFFER_KEPT) {
		strbuf_clear(b);
		strbuf_init(b, limit);
	} else {
		strbuf_reset(b);
	}
}

bool http_exchange_add_body(struct http_exchange *x, const char *bytes, size_t len)
{
	size_t room = strbuf_capacity_after(&x->body, len);
	size_t more = room > BUFFER_KEPT ? room - x->body_reserved : 0;
	if (x->body_reserved == 0)
		x->body_flow = x->flow;
	if (!http_limit_reserve_body(x->loop->shared, x->body_flow, more))
		return false;
	x->body_reserved += more;
	strbuf_add(&x->body, bytes, len);
	return true;
}

void http_exchange_drop_body(struct http_exchange *x)
{
	empty_buffer(&x->body);
	http_limit_release_body(x->loop->shared, x->body_flow, x->body_reserved);
	x->body_reserved = 0;
}

void http_exchange_reset_response(struct http_exchange *x)
{
	x->status = MHD_HTTP_OK;
	x->header_count = 0;
	x->is_broken = false;
	x->content_type[0] = '\0';
	x->fixed_body = NULL;
	x->fixed_body_len = 0;
	x->body_reader = NULL;
	x->is_pushed = false;
	empty_buffer(&x->header_bytes);
	empty_buffer(&x->response_body);
}

void http_exchange_begin(struct http_exchange *x, void *mhd, const char *target)
{
	x->mhd = mhd;
	x->is_begun = true;
	x->is_checked = x->is_rejected = x->is_queued = x->closes = x->on_worker = false;
	x->is_asking = x->is_admitted = x->is_unread = false;
	x->flow = 0;
	x->workers = x->loop->shared->workers;
	x->worker_turns = 0;
	x->waited_us = 0;
	atomic_store_explicit(&x->phase, HTTP_PHASE_RUNNING, memory_order_relaxed);
	x->arrived_steady_us = clock_steady_us(x->loop->shared->config.clock);
	x->arrived_us = x->arrived_steady_us + x->loop->wall_ahead_us;
	x->method = HTTP_OTHER;
	x->method_name = "";
	x->path = "";
	x->target = target;
	x->target_len = target == NULL ? 0 : strlen(target);
	x->request_id[0] = x->traceparent[0] = x->parent_span[0] = '\0';
	const char *mark = target == NULL ? NULL : memchr(target, '?', x->target_len);
	if (mark != NULL)
		strbuf_add(&x->query, mark + 1, x->target_len - (size_t)(mark + 1 - target));
	x->status = MHD_HTTP_OK;
}

static void end(struct http_exchange *x)
{
	if (x->release != NULL)
		x->release(x->state);
	x->state = NULL;
	x->release = NULL;
	x->is_begun = false;
	empty_buffer(&x->query);
	empty_buffer(&x->joined);
	http_exchange_drop_body(x);
	http_exchange_reset_response(x);
}

void http_exchange_end(struct http_exchange *x)
{
	http_exchange_stop_polling(x);
	if (atomic_load_explicit(&x->phase, memory_order_relaxed) == HTTP_PHASE_POLLED) {
		x->mhd = NULL; /* the library's functions then see a request without headers */
		atomic_store(&x->phase, HTTP_PHASE_ABANDONED);
		return;
	}
	end(x);
}

enum http_method http_exchange_method(const struct http_exchange *x)
{
	return x->method;
}

const char *http_exchange_method_name(const struct http_exchange *x)
{
	return x->method_name;
}

const char *http_exchange_path(const struct http_exchange *x)
{
	return x->path;
}

const char *http_exchange_query(const struct http_exchange *x)
{
	return x->query.data;
}

const char *http_exchange_header(const struct http_exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
}

/* The first letter tells nearly all names apart. */
static bool is_named(const char *name, const char *wanted)
{
	return (name[0] | 0x20) == (wanted[0] | 0x20) && strcasecmp(name, wanted) == 0;
}

struct search {
	const char *const *names;
	size_t lens[HTTP_EXCHANGE_FIND_MAX];
	const char **values;
	size_t count;
};

static enum MHD_Result store_if_wanted(void *arg, enum MHD_ValueKind kind, const char *name,
                                       size_t name_len, const char *value, size_t len)
{
	(void)kind;
	(void)len;
	struct search *search = arg;
	for (size_t i = 0; i < search->count; i++)
		if (search->lens[i] == name_len && search->values[i] == NULL &&
		    is_named(name, search->names[i]))
			search->values[i] = value;
	return MHD_YES;
}

void http_exchange_find_headers(const struct http_exchange *x, const char *const names[],
                                const char *values[], size_t count)
{
	struct search search = { .names = names, .values = values, .count = count };
	for (size_t i = 0; i < count; i++) {
		search.lens[i] = strlen(names[i]);
		values[i] = NULL;
	}
	MHD_get_connection_values_n(x->mhd, MHD_HEADER_KIND, store_if_wanted, &search);
}

struct join {
	const char *name;
	struct strbuf *out;
	const char *first;
};

static enum MHD_Result append_if_wanted(void *arg, enum MHD_ValueKind kind, const char *name,
                                        const char *value)
{
	(void)kind;
	struct join *join = arg;
	if (!is_named(name, join->name))
		return MHD_YES;
	if (join->first != NULL)
		strbuf_add(join->out, ", ", 2);
	else
		join->first = value;
	strbuf_add_text(join->out, value);
	return MHD_YES;
}

const char *http_exchange_joined_header(struct http_exchange *x, const char *name)
{
	strbuf_reset(&x->joined);
	struct join join = { .name = name, .out = &x->joined };
	MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, append_if_wanted, &join);
	return join.first == NULL || strbuf_status(&x->joined) != OK ? NULL : x->joined.data;
}

struct cookie_search {
	const char *name;
	struct strbuf *value;
	unsigned count;
};

static void search_cookies(struct cookie_search *search, const char *cookies)
{
	size_t name_len = strlen(search->name);
	while (*(cookies += strspn(cookies, " \t;"))) {
		size_t len = strcspn(cookies, ";");
		bool is_found = len > name_len && cookies[name_len] == '=' &&
		                memcmp(cookies, search->name, name_len) == 0;
		if (is_found && search->count++ == 0)
			strbuf_add(search->value, cookies + name_len + 1, len - name_len - 1);
		cookies += len;
	}
}

/* The guard's own Cookie header (http_guard_skip_parsing) holds no cookie. */
static enum MHD_Result search_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
	(void)kind;
	if (is_named(name, MHD_HTTP_HEADER_COOKIE))
		search_cookies(arg, value);
	return MHD_YES;
}

enum err http_exchange_cookie(struct http_exchange *x, const char *name, const char **value)
{
	strbuf_reset(&x->joined);
	struct cookie_search search = { .name = name, .value = &x->joined };
	MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, search_header, &search);
	if (search.count == 0)
		return ERR_NOT_FOUND;
	if (search.count > 1 || strbuf_status(&x->joined) != OK)
		return ERR_CONFLICT;
	*value = x->joined.data;
	return OK;
}

const char *http_exchange_body(const struct http_exchange *x, size_t *len)
{
	*len = x->body.len;
	return x->body.data;
}

struct client_ip http_exchange_peer(const struct http_exchange *x)
{
	return x->peer;
}

const char *http_exchange_client_ip_header(struct http_exchange *x)
{
	return http_exchange_joined_header(x, x->loop->shared->config.client_ip_header);
}

struct client_ip http_exchange_client_ip(struct http_exchange *x)
{
	const struct client_ip_ranges *trusted = x->loop->shared->config.trusted;
	if (!client_ip_ranges_contain(trusted, &x->peer))
		return x->peer;
	return client_ip_of_request(&x->peer, http_exchange_client_ip_header(x), trusted);
}

const char *http_exchange_request_id(const struct http_exchange *x)
{
	return x->request_id;
}

const char *http_exchange_traceparent(const struct http_exchange *x)
{
	return x->traceparent;
}

const char *http_exchange_parent_span(const struct http_exchange *x)
{
	return x->parent_span;
}

int64_t http_exchange_arrived_steady_us(const struct http_exchange *x)
{
	return x->arrived_steady_us;
}

int64_t http_exchange_arrived_us(const struct http_exchange *x)
{
	return x->arrived_us;
}

void *http_exchange_hook_state(const struct http_exchange *x)
{
	return x->is_unread ? NULL : x->loop->hook_state;
}

bool http_exchange_is_on_worker(const struct http_exchange *x)
{
	return x->on_worker;
}

void http_exchange_set_flow(struct http_exchange *x, uint64_t flow)
{
	x->flow = flow;
}

void http_exchange_set_state(struct http_exchange *x, void *state, void (*release)(void *state))
{
	x->state = state;
	x->release = release;
}

void *http_exchange_state(const struct http_exchange *x)
{
	return x->state;
}

void http_exchange_stop_polling(struct http_exchange *x)
{
	if (x->is_polled)
		x->loop->polled_count--;
	x->is_polled = false;
}

void http_exchange_suspend(struct http_exchange *x)
{
	if (atomic_load(&x->phase) != HTTP_PHASE_POLLED)
		return;
	http_exchange_stop_polling(x);
	MHD_suspend_connection(x->mhd);
	atomic_store(&x->phase, HTTP_PHASE_SUSPENDED);
}

void http_exchange_await_resume(struct http_exchange *x)
{
	struct http_loop *loop = x->loop;
	void *mhd = x->mhd;
	MHD_suspend_connection(mhd);
	int running = HTTP_PHASE_RUNNING;
	if (!atomic_compare_exchange_strong(&x->phase, &running, HTTP_PHASE_SUSPENDED)) {
		MHD_resume_connection(mhd);
		http_loop_wake(loop);
	}
}

bool http_exchange_is_abandoned(const struct http_exchange *x)
{
	return atomic_load(&x->phase) == HTTP_PHASE_ABANDONED;
}

bool http_exchange_is_half_closed(const struct http_exchange *x)
{
	return atomic_load(&http_connection_of(x)->is_half_closed);
}

void http_exchange_resume(struct http_exchange *x)
{
	if (http_exchange_is_abandoned(x)) {
		end(x);
		http_connection_unref(http_connection_of(x));
		return;
	}
	/*
	 * Once the phase has changed, x may be answered and freed at any time. The loop does not
	 * end while resumers is above 0, so loop stays valid.
	 */
	struct http_loop *loop = x->loop;
	void *mhd = x->mhd;
	atomic_fetch_add(&loop->resumers, 1);
	if (atomic_exchange(&x->phase, HTTP_PHASE_RESUMED) == HTTP_PHASE_SUSPENDED) {
		MHD_resume_connection(mhd);
		http_loop_wake(loop);
	}
	atomic_fetch_sub(&loop->resumers, 1);
}

void http_exchange_set_status(struct http_exchange *x, unsigned status)
{
	x->status = status;
}

static uint32_t append_text(struct http_exchange *x, const char *text)
{
	size_t at = x->header_bytes.len;
	strbuf_add(&x->header_bytes, text, strlen(text) + 1);
	return (uint32_t)at;
}

enum err http_exchange_add_header(struct http_exchange *x, const char *name, const char *value)
{
	if (!http_guard_is_token(name, strlen(name)) || !http_guard_is_value(value, strlen(value)))
		return ERR_INVALID;
	if (x->header_count == HTTP_EXCHANGE_HEADERS_MAX)
		return ERR_LIMIT;
	uint32_t name_at = append_text(x, name), value_at = append_text(x, value);
	if (strbuf_status(&x->header_bytes) != OK)
		return ERR_LIMIT;
	x->headers[x->header_count++] =
		(struct http_response_header){ .name_at = name_at, .value_at = value_at };
	return OK;
}

void http_exchange_add_fixed_header(struct http_exchange *x, const char *name, const char *value)
{
	if (x->header_count == HTTP_EXCHANGE_HEADERS_MAX)
		x->is_broken = true;
	else
		x->headers[x->header_count++] =
			(struct http_response_header){ .name = name, .value = value };
}

void http_exchange_set_fixed_header(struct http_exchange *x, const char *name, const char *value)
{
	size_t kept = 0;
	for (size_t i = 0; i < x->header_count; i++)
		if (strcasecmp(http_exchange_header_name(x, i), name) != 0)
			x->headers[kept++] = x->headers[i];
	x->header_count = kept;
	http_exchange_add_fixed_header(x, name, value);
}

static void set_content_type(struct http_exchange *x, const char *content_type)
{
	int len = snprintf(x->content_type, sizeof(x->content_type), "%s", content_type);
	if (len >= (int)sizeof(x->content_type))
		x->is_broken = true;
}

void http_exchange_set_body(struct http_exchange *x, const char *content_type, const void *bytes,
                            size_t len)
{
	set_content_type(x, content_type);
	x->fixed_body = NULL;
	strbuf_reset(&x->response_body);
	strbuf_add(&x->response_body, bytes, len);
	if (strbuf_status(&x->response_body) != OK)
		x->is_broken = true;
}

void http_exchange_set_fixed_body(struct http_exchange *x, const char *content_type,
                                  const void *bytes, size_t len)
{
	set_content_type(x, content_type);
	x->fixed_body = bytes;
	x->fixed_body_len = len;
}

void http_exchange_set_body_reader(struct http_exchange *x, http_body_reader reader, void *arg)
{
	x->body_reader = reader;
	x->body_reader_arg = arg;
	x->chunk = HTTP_CHUNK_MORE;
	x->chunk_sent = 0;
	x->chunk_ready_us = clock_steady_us(x->loop->shared->config.clock);
	x->taking_us = 0;
}

int64_t http_exchange_taking_us(const struct http_exchange *x)
{
	return x->taking_us;
}

void http_exchange_set_push_reader(struct http_exchange *x, http_body_reader reader, void *arg)
{
	http_exchange_set_body_reader(x, reader, arg);
	x->is_pushed = true;
}

const char *http_exchange_header_name(const struct http_exchange *x, size_t index)
{
	const struct http_response_header *header = &x->headers[index];
	return header->name != NULL ? header->name : x->header_bytes.data + header->name_at;
}

const char *http_exchange_header_value(const struct http_exchange *x, size_t index)
{
	const struct http_response_header *header = &x->headers[index];
	return header->name != NULL ? header->value : x->header_bytes.data + header->value_at;
}

const char *http_exchange_response_body(const struct http_exchange *x, size_t *len)
{
	*len = x->fixed_body != NULL ? x->fixed_body_len : x->response_body.len;
	return x->fixed_body != NULL ? x->fixed_body : x->response_body.data;
}
