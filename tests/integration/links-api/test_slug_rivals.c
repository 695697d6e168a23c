/*
 * Eight processes make links at the same time, one by one and in bulk, with wished slugs that collide and random ones of
 * so few characters that they collide all the time, while a ninth purges some of them. Each writes down what it was told
 * it has made; nothing but UNIQUE and the tombstones may decide. SLUG_RIVALS_LINKS: how many they make together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "services/links-api/links/slug_issuer.h"
#include "tests/support/test_database.h"

#define PROCESSES 8
#define LINKS_DEFAULT 6000
#define BULK 50
#define WISHES 5 /* for each slug that can be had */

struct won {
	char slug[SLUG_SIZE];
	int64_t id;
	int owner;
};

/* What all processes see. */
struct field {
	int64_t links; /* as many in all */
	_Atomic int64_t made, lost, collisions, purged;
	struct won won[]; /* room for links + PROCESSES * BULK */
};

static struct test_database *db;
static struct field *field;
static char alphabet[8];

static int64_t asked_links(void)
{
	int64_t links = LINKS_DEFAULT;
	const char *text = getenv("SLUG_RIVALS_LINKS");
	return text && number_parse(text, 1, 1000000, &links) != OK ? LINKS_DEFAULT : links;
}

static int set_up(void **state)
{
	(void)state;
	db = test_database_new();
	int64_t links = asked_links();
	size_t size = sizeof(*field) + (size_t)(links + (PROCESSES + 1) * BULK) * sizeof(struct won);
	field = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(field != MAP_FAILED);
	field->links = links;
	/* Of four letters there are 16,384 slugs of seven: a few thousand links meet each other, a hundred thousand find them all taken. */
	memcpy(alphabet, "abcd", sizeof("abcd"));
	test_database_run(db, "INSERT INTO users (email, password_hash) "
	                      "SELECT 'rival-' || i || '@example.com', 'x' FROM generate_series(1, 8) AS i");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_database_drop(db);
	return 0;
}

static void crowded(char out[static SLUG_SIZE], size_t length)
{
	entropy_text(alphabet, out, length);
}

/* Each wished slug is wished for by several; every second link has one. */
static bool wish(char out[static SLUG_SIZE])
{
	if (entropy_below(2) == 0)
		return false;
	uint32_t different = (uint32_t)(field->links / WISHES) + 1;
	snprintf(out, SLUG_SIZE, "wish-%u", entropy_below(different));
	return true;
}

static struct link_store_new plain(int owner, const char *slug)
{
	return (struct link_store_new){
		.slug = slug, .original_url = "https://example.com/", .redirect_status = 302, .owner_id = owner
	};
}

/* Only now, after the commit, anybody may believe that the slug is his. */
static void note(const struct link *link, int owner)
{
	struct won *won = &field->won[atomic_fetch_add(&field->made, 1)];
	snprintf(won->slug, sizeof(won->slug), "%s", link->entry.slug);
	won->id = link->entry.id;
	won->owner = owner;
}

static void need(bool is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "rival: %s\n", what);
	_exit(1);
}

static void make_one(struct pg_conn *conn, int owner, struct link *link)
{
	char slug[SLUG_SIZE];
	bool is_wish = wish(slug);
	struct link_store_new wanted = plain(owner, is_wish ? slug : NULL);
	need(pg_conn_begin(conn) == OK, "begin");
	enum err err = slug_issuer_create(conn, &wanted, crowded, link);
	if (err == OK) {
		need(pg_conn_commit(conn) == OK, "commit");
		note(link, owner);
		return;
	}
	need(err == ERR_CONFLICT && is_wish, "a random slug, or nothing worse than a taken one");
	pg_conn_rollback(conn);
	atomic_fetch_add(&field->lost, 1);
}

struct bulk {
	struct slug_issuer_item items[BULK];
	struct slug_issuer_item *all[BULK];
	struct link links[BULK];
	char wishes[BULK][SLUG_SIZE];
	size_t count;
};

static bool is_twice(const struct bulk *bulk, const char *slug)
{
	for (size_t i = 0; i < bulk->count; i++) {
		if (bulk->items[i].wanted.slug && strcmp(bulk->items[i].wanted.slug, slug) == 0)
			return true;
	}
	return false;
}

static void fill(struct bulk *bulk, int owner)
{
	memset(bulk, 0, sizeof(*bulk));
	while (bulk->count < BULK) {
		size_t i = bulk->count;
		bool is_wish = wish(bulk->wishes[i]);
		if (is_wish && is_twice(bulk, bulk->wishes[i]))
			continue;
		bulk->items[i].wanted = plain(owner, is_wish ? bulk->wishes[i] : NULL);
		bulk->items[i].link = &bulk->links[i];
		bulk->count++;
	}
}

/* OK when all are decided. */
static enum err create_all(struct pg_conn *conn, struct bulk *bulk)
{
	enum err err = OK;
	size_t left = BULK;
	while (err == OK && left > 0) {
		left = 0;
		for (size_t i = 0; i < BULK; i++) {
			if (!bulk->items[i].is_done)
				bulk->all[left++] = &bulk->items[i];
		}
		err = slug_issuer_create_many(conn, bulk->all, left, crowded);
	}
	return err;
}

static void make_many(struct pg_conn *conn, int owner, struct bulk *bulk)
{
	enum err err;
	for (;;) {
		fill(bulk, owner);
		need(pg_conn_begin(conn) == OK, "begin");
		err = create_all(conn, bulk);
		if (err != ERR_CONFLICT)
			break;
		pg_conn_rollback(conn);
		atomic_fetch_add(&field->collisions, 1);
	}
	need(err == OK && pg_conn_commit(conn) == OK, "a bulk that is committed");
	for (size_t i = 0; i < BULK; i++) {
		if (bulk->items[i].err == OK)
			note(&bulk->links[i], owner);
		else
			atomic_fetch_add(&field->lost, 1);
	}
}

static void compete(int owner)
{
	struct pg_conn *conn = test_database_connect(db, "waymark_links_api");
	struct bulk *bulk = mem_zero(sizeof(*bulk));
	struct link *link = mem_zero(sizeof(*link));
	while (atomic_load(&field->made) < field->links) {
		if (owner % 2)
			make_one(conn, owner, link);
		else
			make_many(conn, owner, bulk);
	}
	_exit(0);
}

/* What was made goes at once, now and then: nobody may get its slug again. */
static void purge(void)
{
	struct pg_conn *conn = test_database_connect(db, "waymark_links_api");
	struct link *link = mem_zero(sizeof(*link));
	int64_t made;
	while ((made = atomic_load(&field->made)) < field->links) {
		const struct won *won =
			made > PROCESSES * BULK ? &field->won[entropy_below((uint32_t)made - PROCESSES * BULK)] : NULL;
		if (!won || !won->owner)
			continue;
		need(pg_conn_begin(conn) == OK, "begin");
		enum err err = link_store_lock(conn, won->id, won->owner, link);
		if (err == OK)
			err = link_store_purge(conn, link);
		need(err == OK || err == ERR_NOT_FOUND, "a purge");
		need(pg_conn_commit(conn) == OK, "commit");
		atomic_fetch_add(&field->purged, err == OK);
	}
	_exit(0);
}

static int compare_won(const void *a, const void *b)
{
	return strcmp(((const struct won *)a)->slug, ((const struct won *)b)->slug);
}

static int64_t count_twice(void)
{
	int64_t twice = 0;
	qsort(field->won, (size_t)field->made, sizeof(struct won), compare_won);
	for (int64_t i = 1; i < field->made; i++)
		twice += strcmp(field->won[i - 1].slug, field->won[i].slug) == 0;
	return twice;
}

/* Who was told that a slug is his must be its owner, in the row or, of purged ones, by the link's id in the tombstone. */
static int64_t count_wrong(void)
{
	int64_t wrong = 0;
	struct pg_conn *conn = test_database_connect(db, NULL);
	for (int64_t i = 0; i < field->made; i++) {
		const struct won *won = &field->won[i];
		int64_t found = 0;
		struct pg_params params = { 0 };
		pg_params_text(&params, won->slug);
		pg_params_int(&params, won->id);
		pg_params_int(&params, won->owner);
		assert_int_equal(
			pg_conn_query_int(
				conn,
				"SELECT (SELECT count(*) FROM links WHERE slug = $1 AND id = $2 AND owner_id = $3) "
				"+ (SELECT count(*) FROM link_tombstones WHERE slug = $1 AND link_id = $2)",
				&params, &found),
			OK);
		wrong += found != 1;
	}
	pg_conn_close(conn);
	return wrong;
}

static void a_slug_has_one_winner_whoever_asks_for_it_at_the_same_time(void **state)
{
	(void)state;
	pid_t children[PROCESSES + 1];
	for (int i = 0; i <= PROCESSES; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (i < PROCESSES && children[i] == 0)
			compete(i + 1);
		if (children[i] == 0)
			purge();
	}
	for (int i = 0; i <= PROCESSES; i++) {
		int status = -1;
		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_int_equal(status, 0);
	}
	int64_t rows =
		test_database_ask(db, "SELECT (SELECT count(*) FROM links) + (SELECT count(*) FROM link_tombstones)");
	int64_t twice = count_twice();
	int64_t wrong = count_wrong();
	print_message("slugs: %lld links by %d processes, %lld wishes taken, %lld purged, %lld bulks begun anew: "
	              "duplicates %lld, wrong winners %lld\n",
	              (long long)field->made, PROCESSES, (long long)field->lost, (long long)field->purged,
	              (long long)field->collisions, (long long)twice, (long long)wrong);
	assert_true(field->lost > field->links / 10);
	assert_true(field->purged > 0);
	assert_int_equal(rows, field->made);
	assert_int_equal(twice, 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM outbox"), field->made + field->purged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slug_has_one_winner_whoever_asks_for_it_at_the_same_time),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
