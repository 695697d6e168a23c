#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"

#define SETTINGS 3

/* A database per test, and a folder with two migrations. */
struct migrate_fixture {
	struct backend_fixture *net;
	struct pg_conn *admin;
	/* Of the test's database. */
	char url[512];
	char folder[64];
};

struct run {
	int status;
	struct strbuf output;
};

static void put(const struct migrate_fixture *f, const char *file, const char *sql)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", f->folder, file);
	FILE *out = fopen(path, "we");
	assert_non_null(out);
	assert_true(fputs(sql, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void remove_file(const struct migrate_fixture *f, const char *file)
{
	char path[160];
	snprintf(path, sizeof(path), "%s/%s", f->folder, file);
	assert_int_equal(unlink(path), 0);
}

static int set_up(void **state)
{
	struct migrate_fixture *f = mem_zero(sizeof(*f));
	void *net = NULL;
	char sql[96];
	backend_fixture_set_up(&net);
	f->net = net;
	f->admin = backend_fixture_pg(f->net);
	snprintf(sql, sizeof(sql), "CREATE DATABASE %s", f->net->unique);
	assert_int_equal(pg_conn_script(f->admin, sql), OK);
	snprintf(f->url, sizeof(f->url), "%.*s/%s",
	         (int)(strrchr(f->net->pg_url, '/') - f->net->pg_url), f->net->pg_url,
	         f->net->unique);
	snprintf(f->folder, sizeof(f->folder), "/tmp/test_migrate.XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	put(f, "0001_first.sql", "CREATE TABLE first (a int); INSERT INTO first VALUES (1);");
	put(f, "0002_second.sql", "CREATE TABLE second (a int);");
	*state = f;
	return 0;
}

static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	assert_non_null(folder);
	while ((entry = readdir(folder)))
		unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	assert_int_equal(rmdir(path), 0);
}

static int tear_down(void **state)
{
	struct migrate_fixture *f = *state;
	char text[96];
	snprintf(text, sizeof(text), "DROP DATABASE %s WITH (FORCE)", f->net->unique);
	assert_int_equal(pg_conn_script(f->admin, text), OK);
	pg_conn_close(f->admin);
	remove_folder(f->folder);
	void *net = f->net;
	backend_fixture_tear_down(&net);
	free(f);
	return 0;
}

/* This process's environment with settings added. The caller frees the array, not its strings. */
static char **environment_with(char *const settings[SETTINGS])
{
	size_t count = 0;
	while (environ[count])
		count++;
	char **environment = mem_array(count + SETTINGS + 1, sizeof(char *));
	for (size_t i = 0; i < SETTINGS; i++)
		environment[i] = settings[i];
	size_t n = SETTINGS;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(environ[i], "PG_URL=", 7) != 0)
			environment[n++] = environ[i];
	}
	return environment;
}

/* Starts the program with stdout and stderr redirected to output. */
static pid_t start(char *const settings[SETTINGS], const char *argument, int output)
{
	char path[512];
	const char *build = getenv("WAYMARK_BUILD_DIR");
	assert_non_null(build);
	snprintf(path, sizeof(path), "%s/bin/migrate", build);
	char *const arguments[] = { path, *argument ? (char *)(uintptr_t)argument : NULL, NULL };
	char **environment = environment_with(settings);
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output, 1);
	posix_spawn_file_actions_adddup2(&actions, output, 2);
	pid_t pid = 0;
	assert_int_equal(posix_spawn(&pid, path, &actions, NULL, arguments, environment), 0);
	posix_spawn_file_actions_destroy(&actions);
	free(environment);
	return pid;
}

static struct run run_with(const char *url, const char *folder, const char *wait_s,
                           const char *argument)
{
	struct run run = { .status = -1 };
	char text[SETTINGS][600];
	snprintf(text[0], sizeof(text[0]), "PG_URL=%s", url);
	snprintf(text[1], sizeof(text[1]), "MIGRATIONS_DIR=%s", folder);
	snprintf(text[2], sizeof(text[2]), "MIGRATE_WAIT_S=%s", wait_s);
	int ends[2];
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = start((char *const[SETTINGS]){ text[0], text[1], text[2] }, argument, ends[1]);
	close(ends[1]);
	strbuf_init(&run.output, 65536);
	char bytes[4096];
	ssize_t n;
	while ((n = read(ends[0], bytes, sizeof(bytes))) > 0)
		strbuf_add(&run.output, bytes, (size_t)n);
	close(ends[0]);
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	run.status = WEXITSTATUS(status);
	return run;
}

static struct run run_migrate(const struct migrate_fixture *f, const char *argument)
{
	return run_with(f->url, f->folder, "", argument);
}

/* Runs the program and checks its exit status and a part of its output. */
static void expect(const struct migrate_fixture *f, const char *argument, int status,
                   const char *words)
{
	struct run run = run_migrate(f, argument);
	if (run.status != status || !strstr(run.output.data, words))
		fail_msg("status %d, output: %s", run.status, run.output.data);
	strbuf_clear(&run.output);
}

static int64_t ask(const struct migrate_fixture *f, const char *sql)
{
	struct pg_conn *conn = NULL;
	assert_int_equal(pg_conn_open(f->url, "test", 5000, 5000, f->net->log, &conn), OK);
	int64_t value = backend_fixture_query_int(conn, sql, NULL);
	pg_conn_close(conn);
	return value;
}

TEST_CASE_WITH(applies_pending_migrations_once, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	expect(f, "", 0, "applied 0001_first.sql\nmigrate: applied 0002_second.sql\n");
	expect(f, "", 0, "up to date, 0 applied now, 2 before");
	assert_int_equal(ask(f, "SELECT count(*) FROM first"), 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM schema_migrations"), 2);
	put(f, "0003_third.sql", "INSERT INTO first VALUES (2)");
	expect(f, "", 0, "1 applied now, 2 before");
	assert_int_equal(ask(f, "SELECT count(*) FROM first"), 2);
}

TEST_CASE_WITH(lists_applied_and_pending_migrations_without_writing, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	expect(f, "--status", 0, "pending  0001_first.sql\npending  0002_second.sql\n");
	assert_int_equal(
		ask(f, "SELECT count(*) FROM pg_class WHERE relname = 'schema_migrations'"), 0);
	expect(f, "", 0, "2 applied now");
	put(f, "0003_third.sql", "SELECT 1");
	expect(f, "--status", 0,
	       "applied  0001_first.sql\napplied  0002_second.sql\npending  0003_third.sql\n");
	assert_int_equal(ask(f, "SELECT count(*) FROM schema_migrations"), 2);
}

TEST_CASE_WITH(applies_the_schema_of_this_tree, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	struct run run = run_with(f->url, "db/migrations", "", "");
	assert_int_equal(run.status, 0);
	strbuf_clear(&run.output);
	assert_true(ask(f, "SELECT count(*) FROM pg_class WHERE relname = 'links'") > 0);
}

TEST_CASE_WITH(refuses_a_changed_file_and_applies_nothing, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	expect(f, "", 0, "2 applied now");
	put(f, "0001_first.sql", "CREATE TABLE other (a int);");
	put(f, "0003_third.sql", "CREATE TABLE third (a int);");
	expect(f, "", 1, "0001_first.sql: was changed after it was applied (recorded sha256 ");
	expect(f, "--status", 1, "0001_first.sql: was changed");
	assert_int_equal(
		ask(f, "SELECT count(*) FROM pg_class WHERE relname IN ('other', 'third')"), 0);
}

TEST_CASE_WITH(refuses_a_missing_file_and_applies_nothing, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	expect(f, "", 0, "2 applied now");
	remove_file(f, "0001_first.sql");
	put(f, "0003_third.sql", "CREATE TABLE third (a int);");
	expect(f, "", 1, "0001_first.sql: was applied, but the file is missing");
	assert_int_equal(ask(f, "SELECT count(*) FROM pg_class WHERE relname = 'third'"), 0);
}

TEST_CASE_WITH(does_nothing_to_the_database_of_a_newer_version, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	put(f, "0003_future.sql", "CREATE TABLE future (a int);");
	expect(f, "", 0, "3 applied now");
	remove_file(f, "0003_future.sql");
	expect(f, "", 0,
	       "migrate: the database is newer than this version (its newest migration is "
	       "0003_future.sql), so there is nothing to do\n");
	expect(f, "--status", 0,
	       "applied  0001_first.sql\napplied  0002_second.sql\nnewer    0003_future.sql\n");
	assert_int_equal(ask(f, "SELECT count(*) FROM schema_migrations"), 3);
}

TEST_CASE_WITH(refuses_a_new_file_with_an_old_version, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	remove_file(f, "0001_first.sql");
	expect(f, "", 0, "1 applied now");
	put(f, "0001_late.sql", "CREATE TABLE late (a int);");
	expect(f, "", 1, "0001_late.sql: is out of order");
	assert_int_equal(ask(f, "SELECT count(*) FROM pg_class WHERE relname = 'late'"), 0);
}

TEST_CASE_WITH(rolls_back_a_failed_migration, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	put(f, "0002_second.sql", "CREATE TABLE second (a int); INSERT INTO nowhere VALUES (1);");
	put(f, "0003_third.sql", "CREATE TABLE third (a int);");
	expect(f, "", 1, "0002_second.sql failed: relation \"nowhere\" does not exist");
	assert_int_equal(
		ask(f, "SELECT count(*) FROM pg_class WHERE relname IN ('second', 'third')"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM schema_migrations"), 1);
	/* It was not recorded, so the file may be corrected. */
	put(f, "0002_second.sql", "CREATE TABLE second (a int);");
	expect(f, "", 0, "2 applied now, 1 before");
}

TEST_CASE_WITH(refuses_a_migration_that_commits, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	put(f, "0002_second.sql", "CREATE TABLE second (a int); COMMIT;");
	expect(f, "", 1, "0002_second.sql failed: the script begins or ends a transaction");
	assert_int_equal(ask(f, "SELECT count(*) FROM schema_migrations"), 1);
}

static void *run_in_thread(void *arg)
{
	struct run *run = mem_zero(sizeof(*run));
	*run = run_migrate(arg, "");
	return run;
}

TEST_CASE_WITH(applies_everything_once_in_two_concurrent_runs, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	pthread_t threads[2];
	put(f, "0003_slow.sql", "SELECT pg_sleep(0.3); INSERT INTO first VALUES (3);");
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_in_thread, *state), 0);
	int applied = 0;
	for (int i = 0; i < 2; i++) {
		void *result = NULL;
		pthread_join(threads[i], &result);
		struct run *run = result;
		if (run->status != 0)
			fail_msg("output: %s", run->output.data);
		applied += strstr(run->output.data, "applied 0003_slow.sql") != NULL;
		strbuf_clear(&run->output);
		free(run);
	}
	assert_int_equal(applied, 1);
	assert_int_equal(ask(f, "SELECT count(*) FROM first"), 2);
}

static bool migrate_waits_for_a_lock(void *ctx)
{
	const struct migrate_fixture *f = ctx;
	return backend_fixture_query_int(
		       f->admin,
		       "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'migrate' "
		       "AND wait_event_type = 'Lock'",
		       NULL) > 0;
}

/* A backup holds such a lock for hours. Others must not wait behind the migration. */
TEST_CASE_WITH(does_not_stop_others_while_it_waits_for_a_lock, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	expect(f, "", 0, "2 applied now");
	put(f, "0003_third.sql", "ALTER TABLE first ADD COLUMN b int");
	struct pg_conn *backup = NULL;
	assert_int_equal(pg_conn_open(f->url, "backup", 5000, 0, f->net->log, &backup), OK);
	assert_int_equal(pg_conn_begin(backup), OK);
	assert_int_equal(pg_conn_query(backup, "LOCK TABLE first IN ACCESS SHARE MODE", NULL, NULL),
	                 OK);
	setenv("MIGRATE_LOCK_WAIT_S", "0", 1);
	expect(f, "", 1, "0003_third.sql failed: ");
	unsetenv("MIGRATE_LOCK_WAIT_S");
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, run_in_thread, *state), 0);
	backend_fixture_wait(migrate_waits_for_a_lock, *state, TEST_DEADLINE_MS);
	struct pg_conn *reader = NULL;
	assert_int_equal(pg_conn_open(f->url, "reader", 5000, 60000, f->net->log, &reader), OK);
	assert_int_equal(backend_fixture_query_int(reader, "SELECT count(*) FROM first", NULL), 1);
	pg_conn_close(reader);
	assert_int_equal(pg_conn_commit(backup), OK);
	void *result = NULL;
	pthread_join(thread, &result);
	struct run *run = result;
	if (run->status != 0 || !strstr(run->output.data, "applied 0003_third.sql"))
		fail_msg("status %d, output: %s", run->status, run->output.data);
	strbuf_clear(&run->output);
	free(run);
	pg_conn_close(backup);
}

TEST_CASE(lists_every_invalid_variable)
{
	struct run run = run_with("nonsense", "/nowhere", "x", "");
	assert_int_equal(run.status, 64);
	assert_non_null(strstr(run.output.data, "PG_URL: "));
	assert_non_null(strstr(run.output.data, "MIGRATIONS_DIR: /nowhere "));
	assert_non_null(strstr(run.output.data, "MIGRATE_WAIT_S: "));
	strbuf_clear(&run.output);
}

TEST_CASE_WITH(waits_for_a_server_that_cannot_be_reached, set_up, tear_down)
{
	const struct migrate_fixture *f = *state;
	char url[512];
	snprintf(url, sizeof(url), "%s", f->url);
	struct tcp_proxy *proxy = backend_fixture_proxy(url, sizeof(url));
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	int64_t started_ms = backend_fixture_now_ms();
	struct run run = run_with(url, f->folder, "1", "");
	assert_int_equal(run.status, 1);
	assert_non_null(strstr(run.output.data, "could not be reached within 1 s"));
	int64_t took_ms = backend_fixture_now_ms() - started_ms;
	assert_true(took_ms >= 1000);
	test_speed_at_most(took_ms, 10000, "ms");
	strbuf_clear(&run.output);
	struct migrate_fixture through = *f;
	snprintf(through.url, sizeof(through.url), "%s", url);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &through), 0);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	void *result = NULL;
	pthread_join(thread, &result);
	struct run *later = result;
	assert_int_equal(later->status, 0);
	strbuf_clear(&later->output);
	free(later);
	tcp_proxy_free(proxy);
}

TEST_MAIN()
