#include "lib/links/host_guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/file_watch.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"

#define RETRY_MS 1000
#define VERSION_UNKNOWN (-1)
#define CHUNK_BYTES 16384
#define REASON_SIZE 96

/* --- the table of blocked hosts --- */

enum err host_guard_blocked_add(struct pg_conn *conn, struct blocked_host *host)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host->host);
	pg_params_bool(&params, host->with_subdomains);
	pg_params_text(&params, host->reason);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"INSERT INTO blocked_hosts (host, with_subdomains, reason) VALUES ($1, $2, $3) "
		"RETURNING id, created_at",
		&params, &rows);
	if (err == OK) {
		host->id = pg_result_int(rows, 0, 0);
		host->created_at_us = pg_result_time(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

enum err host_guard_blocked_delete(struct pg_conn *conn, struct blocked_host *host)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, host->id);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn, "DELETE FROM blocked_hosts WHERE id = $1 RETURNING host, with_subdomains",
		&params, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		snprintf(host->host, sizeof(host->host), "%s", pg_result_text(rows, 0, 0));
		host->with_subdomains = pg_result_bool(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

enum err host_guard_blocked_list(struct pg_conn *conn, blocked_host_callback on_host, void *ctx)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT id, host, with_subdomains, reason, created_at FROM blocked_hosts ORDER BY host",
		NULL, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		struct blocked_host host = {
			.id = pg_result_int(rows, i, 0),
			.with_subdomains = pg_result_bool(rows, i, 2),
			.created_at_us = pg_result_time(rows, i, 4),
		};
		snprintf(host.host, sizeof(host.host), "%s", pg_result_text(rows, i, 1));
		snprintf(host.reason, sizeof(host.reason), "%s", pg_result_text(rows, i, 3));
		on_host(ctx, &host);
	}
	pg_result_free(rows);
	return err;
}

/* One statement, so that version and hosts are consistent. Without hosts it gives one row. */
static enum err read_blocked(struct pg_conn *conn, struct strbuf *list, int64_t *version)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn,
	                             "SELECT version, host, with_subdomains "
	                             "FROM blocked_hosts_state LEFT JOIN blocked_hosts ON true",
	                             NULL, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		*version = pg_result_int(rows, i, 0);
		if (!pg_result_is_null(rows, i, 1))
			strbuf_add_format(list, "%s%s\n", pg_result_bool(rows, i, 2) ? "." : "",
			                  pg_result_text(rows, i, 1));
	}
	pg_result_free(rows);
	return err == OK ? strbuf_status(list) : err;
}

/* --- a file --- */

static enum err reject(char reason[static REASON_SIZE], const char *text)
{
	snprintf(reason, REASON_SIZE, "%s", text);
	return ERR_INVALID;
}

static enum err read_content(const char *path, struct strbuf *text, char reason[static REASON_SIZE])
{
	FILE *file = fopen(path, "re");
	char chunk[CHUNK_BYTES];
	size_t len;
	bool failed = !file;
	while (!failed && (len = fread(chunk, 1, sizeof(chunk), file)) > 0 &&
	       strbuf_status(text) == OK)
		strbuf_add(text, chunk, len);
	failed = failed || ferror(file);
	int saved_errno = errno;
	if (file)
		fclose(file);
	if (!failed)
		return strbuf_status(text) == OK ? OK : reject(reason, "is too long");
	snprintf(reason, REASON_SIZE, "cannot be read: %s", strerrordesc_np(saved_errno));
	return ERR_UNAVAILABLE;
}

static enum err check_text(const struct strbuf *text, enum host_policy_kind kind,
                           char reason[static REASON_SIZE])
{
	size_t line = 0;
	struct host_policy *policy = host_policy_new();
	enum err err = host_policy_add_list(policy, kind, text->data, text->len, &line);
	size_t count = host_policy_count(policy);
	host_policy_free(policy);
	if (err == ERR_LIMIT || count > HOST_GUARD_FILE_RULES_MAX)
		return reject(reason, "has too many hosts");
	if (err == OK && count == 0 && kind == HOST_POLICY_ALLOWLIST)
		return reject(reason, "does not allow any host");
	if (err != OK)
		snprintf(
			reason, REASON_SIZE,
			"line %zu is not a host: write example.com or .example.com, non-ASCII names as xn--…",
			line);
	return err;
}

static enum err read_list(const char *path, enum host_policy_kind kind, struct strbuf *text,
                          char reason[static REASON_SIZE])
{
	enum err err = read_content(path, text, reason);
	return err == OK ? check_text(text, kind, reason) : err;
}

static size_t check_file(const char *path, const char *name, enum host_policy_kind kind,
                         struct strbuf *problems)
{
	char reason[REASON_SIZE] = "";
	struct strbuf text;
	strbuf_init(&text, HOST_GUARD_FILE_BYTES_MAX);
	enum err err = path[0] != '\0' ? read_list(path, kind, &text, reason) : OK;
	strbuf_clear(&text);
	return env_expect(err == OK, name, reason, problems);
}

size_t host_guard_check_files(const char *blocked, const char *allowed, struct strbuf *problems)
{
	return check_file(blocked, "BLOCKED_HOSTS_FILE", HOST_POLICY_BLOCKLIST, problems) +
	       check_file(allowed, "ALLOWED_HOSTS_FILE", HOST_POLICY_ALLOWLIST, problems);
}

/* --- the policy --- */

enum source { BLOCKED_FILE, ALLOWED_FILE, BLOCKED_TABLE, SOURCES };

struct host_guard {
	struct host_guard_config config;
	struct thread *thread;
	struct file_watch *watch;
	struct metric *rules;

	/* Guards lists and version; held while a policy is built from them. */
	pthread_mutex_t build_lock;
	/* Last content of each source. */
	struct strbuf lists[SOURCES];
	/* Of the table, or VERSION_UNKNOWN. */
	int64_t version;
	/* Steady; last successful check of the table. */
	_Atomic int64_t checked_at_us;

	/* Most installations have no rules. Then a check is only this load. */
	_Atomic bool has_rules;
	/* Guards the pointer; held for reading during a check. */
	pthread_rwlock_t lock;
	struct host_policy *policy;
};

static const struct {
	enum host_policy_kind kind;
	const char *name;
} sources[SOURCES] = {
	[BLOCKED_FILE] = { HOST_POLICY_BLOCKLIST, "BLOCKED_HOSTS_FILE" },
	[ALLOWED_FILE] = { HOST_POLICY_ALLOWLIST, "ALLOWED_HOSTS_FILE" },
	[BLOCKED_TABLE] = { HOST_POLICY_BLOCKLIST, "blocked_hosts" },
};

static const char *path_of(const struct host_guard *guard, enum source source)
{
	return source == BLOCKED_FILE ? guard->config.blocked_file : guard->config.allowed_file;
}

/* Call with build_lock held. */
static void rebuild_policy(struct host_guard *guard)
{
	struct host_policy *policy = host_policy_new();
	for (int i = 0; i < SOURCES; i++) {
		size_t line = 0;
		const struct strbuf *list = &guard->lists[i];
		enum err err =
			host_policy_add_list(policy, sources[i].kind, list->data, list->len, &line);
		if (err != OK) /* cannot happen for files, which were validated when read */
			log_error(guard->config.log, "host_list_truncated",
			          LOG_TEXT("source", sources[i].name), LOG_INT("line", line),
			          LOG_TEXT("error", err_name(err)));
	}
	size_t count = host_policy_count(policy);
	pthread_rwlock_wrlock(&guard->lock);
	struct host_policy *old = guard->policy;
	guard->policy = policy;
	pthread_rwlock_unlock(&guard->lock);
	atomic_store(&guard->has_rules, count > 0);
	host_policy_free(old);
	metrics_set(guard->rules, (int64_t)count);
}

/* Replaces one list and rebuilds the policy. Takes ownership of text. */
static void replace_list(struct host_guard *guard, enum source source, struct strbuf *text)
{
	strbuf_clear(&guard->lists[source]);
	guard->lists[source] = *text;
	rebuild_policy(guard);
	log_info(guard->config.log, "host_list_loaded", LOG_TEXT("source", sources[source].name),
	         LOG_INT("rules", host_policy_count(guard->policy)));
}

static enum err read_file(struct host_guard *guard, enum source source)
{
	struct strbuf text;
	char reason[REASON_SIZE] = "";
	strbuf_init(&text, HOST_GUARD_FILE_BYTES_MAX);
	enum err err = read_list(path_of(guard, source), sources[source].kind, &text, reason);
	if (err != OK) {
		log_error(guard->config.log, "host_list_invalid",
		          LOG_TEXT("source", sources[source].name), LOG_TEXT("reason", reason));
		strbuf_clear(&text);
		return err;
	}
	pthread_mutex_lock(&guard->build_lock);
	replace_list(guard, source, &text);
	pthread_mutex_unlock(&guard->build_lock);
	return OK;
}

static enum err reread_blocked(void *ctx)
{
	return read_file(ctx, BLOCKED_FILE);
}

static enum err reread_allowed(void *ctx)
{
	return read_file(ctx, ALLOWED_FILE);
}

/* Call with build_lock held, so that an older version never replaces a newer one. */
static enum err refresh_from_table(struct host_guard *guard, struct pg_conn *conn)
{
	int64_t version = VERSION_UNKNOWN;
	enum err err =
		pg_conn_query_int(conn, "SELECT version FROM blocked_hosts_state", NULL, &version);
	if (err == OK && version != guard->version) {
		struct strbuf list;
		strbuf_init(&list, (HOST_GUARD_BLOCKED_MAX + 1) * (HOST_POLICY_NAME_MAX + 2));
		err = read_blocked(conn, &list, &version);
		if (err == OK) {
			replace_list(guard, BLOCKED_TABLE, &list);
			guard->version = version;
		} else {
			strbuf_clear(&list);
		}
	}
	if (err == OK)
		atomic_store(&guard->checked_at_us, clock_steady_us(guard->config.clock));
	return err;
}

void host_guard_refresh(struct host_guard *guard, struct pg_conn *conn)
{
	pthread_mutex_lock(&guard->build_lock);
	(void)refresh_from_table(guard, conn); /* the thread retries soon */
	pthread_mutex_unlock(&guard->build_lock);
}

static enum err refresh(struct host_guard *guard)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(guard->config.postgres, &conn);
	if (err != OK)
		return err;
	pthread_mutex_lock(&guard->build_lock);
	err = refresh_from_table(guard, conn);
	pthread_mutex_unlock(&guard->build_lock);
	pg_pool_release(guard->config.postgres, conn);
	return err;
}

static void run(void *ctx)
{
	struct host_guard *guard = ctx;
	bool is_fresh;
	do
		is_fresh = refresh(guard) == OK;
	while (!thread_wait_ms(guard->thread, is_fresh || guard->config.interval_ms < RETRY_MS
	                                              ? guard->config.interval_ms
	                                              : RETRY_MS));
}

static double table_age_s(void *ctx)
{
	struct host_guard *guard = ctx;
	return (double)(clock_steady_us(guard->config.clock) - atomic_load(&guard->checked_at_us)) /
	       (double)CLOCK_US_PER_S;
}

static void register_metrics(struct host_guard *guard)
{
	struct metrics *metrics = guard->config.metrics;
	guard->rules = metrics_gauge(metrics, "waymark_host_rules",
	                             "Rules that block or allow hosts.", NULL);
	metrics_gauge_callback(
		metrics, "waymark_blocked_hosts_age_seconds",
		"Time since the last successful check of the table of blocked hosts.", NULL,
		table_age_s, guard);
}

static struct file_watch *watch_files(struct host_guard *guard)
{
	const struct file_watch_file files[] = {
		{ guard->config.blocked_file, reread_blocked, guard },
		{ guard->config.allowed_file, reread_allowed, guard }
	};
	struct metrics *metrics = guard->config.metrics;
	return file_watch_new(&(struct file_watch_config){
		.files = files,
		.count = ARRAY_SIZE(files),
		.interval_ms = guard->config.interval_ms,
		.broken = metrics_gauge(metrics, "waymark_host_files_broken",
	                                "Host list files whose current content cannot be used.",
	                                NULL),
	});
}

static enum err read_files(struct host_guard *guard)
{
	enum err err = OK;
	for (int i = BLOCKED_FILE; err == OK && i <= ALLOWED_FILE; i++) {
		if (path_of(guard, (enum source)i)[0] != '\0')
			err = read_file(guard, (enum source)i);
	}
	return err == OK ? OK : ERR_INVALID;
}

enum err host_guard_start(const struct host_guard_config *config, struct host_guard **out)
{
	struct host_guard *guard = mem_zero(sizeof(*guard));
	guard->config = *config;
	guard->version = VERSION_UNKNOWN;
	guard->checked_at_us = clock_steady_us(config->clock);
	guard->policy = host_policy_new();
	pthread_mutex_init(&guard->build_lock, NULL);
	pthread_rwlock_init(&guard->lock, NULL);
	for (int i = 0; i < SOURCES; i++)
		strbuf_init(&guard->lists[i], 1);
	register_metrics(guard);
	guard->thread = thread_new();
	guard->watch = watch_files(guard);
	enum err err = read_files(guard);
	if (err != OK) {
		host_guard_stop(guard);
		return err;
	}
	file_watch_start(guard->watch);
	thread_start(guard->thread, "host-guard", run, guard);
	*out = guard;
	return OK;
}

void host_guard_stop(struct host_guard *guard)
{
	if (!guard)
		return;
	thread_free(guard->thread);
	file_watch_free(guard->watch);
	for (int i = 0; i < SOURCES; i++)
		strbuf_clear(&guard->lists[i]);
	host_policy_free(guard->policy);
	pthread_rwlock_destroy(&guard->lock);
	pthread_mutex_destroy(&guard->build_lock);
	free(guard);
}

enum host_policy_decision host_guard_check(struct host_guard *guard, const char *url)
{
	if (!atomic_load_explicit(&guard->has_rules, memory_order_relaxed))
		return HOST_POLICY_ALLOWED;
	pthread_rwlock_rdlock(&guard->lock);
	enum host_policy_decision verdict = host_policy_check(guard->policy, url);
	pthread_rwlock_unlock(&guard->lock);
	return verdict;
}
