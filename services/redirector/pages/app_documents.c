#include "services/redirector/pages/app_documents.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"

#define FOLDER "/.well-known/"
#define RETRY_MS 1000

static const char *const names[] = { "apple-app-site-association", "assetlinks.json" };
#define DOCUMENTS ARRAY_SIZE(names)

struct app_documents {
	struct pg_pool *postgres;
	int64_t interval_ms;
	struct thread *thread;
	/* Protects bodies. */
	pthread_mutex_t lock;
	/* Owned; NULL: there is none. */
	char *bodies[DOCUMENTS];
};

static void free_all(char *bodies[static DOCUMENTS])
{
	for (size_t i = 0; i < DOCUMENTS; i++)
		free(bodies[i]);
}

static void replace(struct app_documents *documents, const struct pg_result *rows)
{
	char *bodies[DOCUMENTS] = { NULL };
	for (size_t row = 0; row < pg_result_count(rows); row++)
		for (size_t i = 0; i < DOCUMENTS; i++)
			if (!bodies[i] && strcmp(pg_result_text(rows, row, 0), names[i]) == 0)
				bodies[i] = mem_text(pg_result_text(rows, row, 1));
	char *old[DOCUMENTS];
	pthread_mutex_lock(&documents->lock);
	memcpy(old, documents->bodies, sizeof(old));
	memcpy(documents->bodies, bodies, sizeof(bodies));
	pthread_mutex_unlock(&documents->lock);
	free_all(old);
}

/* False: PostgreSQL did not answer. */
static bool read_all(struct app_documents *documents)
{
	struct pg_conn *conn = NULL;
	struct pg_result *rows = NULL;
	enum err err = pg_pool_acquire(documents->postgres, &conn);
	if (err == OK)
		err = pg_conn_query(conn, "SELECT name, body FROM app_documents", NULL, &rows);
	if (err == OK)
		replace(documents, rows);
	pg_result_free(rows);
	pg_pool_release(documents->postgres, conn);
	return err == OK;
}

static void run(void *ctx)
{
	struct app_documents *documents = ctx;
	bool was_read;
	do
		was_read = read_all(documents);
	while (!thread_wait_ms(documents->thread, was_read || documents->interval_ms < RETRY_MS
	                                                  ? documents->interval_ms
	                                                  : RETRY_MS));
}

struct app_documents *app_documents_start(struct pg_pool *postgres, int64_t interval_ms)
{
	struct app_documents *documents = mem_zero(sizeof(*documents));
	documents->postgres = postgres;
	documents->interval_ms = interval_ms;
	pthread_mutex_init(&documents->lock, NULL);
	documents->thread = thread_new();
	thread_start(documents->thread, "app-documents", run, documents);
	return documents;
}

void app_documents_stop(struct app_documents *documents)
{
	if (!documents)
		return;
	thread_free(documents->thread);
	pthread_mutex_destroy(&documents->lock);
	free_all(documents->bodies);
	free(documents);
}

bool app_documents_respond(struct app_documents *documents, struct http_exchange *x,
                           const char *path)
{
	bool is_found = false;
	if (strncmp(path, FOLDER, strlen(FOLDER)) != 0)
		return false;
	for (size_t i = 0; i < DOCUMENTS; i++) {
		if (strcmp(path + strlen(FOLDER), names[i]) != 0)
			continue;
		pthread_mutex_lock(&documents->lock);
		const char *body = documents->bodies[i];
		is_found = body != NULL;
		if (is_found)
			http_exchange_set_body(x, "application/json", body, strlen(body));
		pthread_mutex_unlock(&documents->lock);
	}
	if (is_found)
		http_exchange_add_fixed_header(x, "X-Content-Type-Options", "nosniff");
	return is_found;
}
