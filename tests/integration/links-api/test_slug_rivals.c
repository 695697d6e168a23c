/*
 * Eight processes create links at the same time, one by one and in bulk, while a ninth purges some
 * of them. Requested slugs collide, and random slugs use so small an alphabet that they collide all
 * the time. Each process records the links that it created. At the end, no slug may have two
 * creators. SLUG_RIVALS_LINKS: the total number of links.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "services/links-api/links/slug_allocator.h"
#include "tests/support/test.h"
#include "tests/support/test_database.h"

#define PROCESSES 8
#define LINKS_DEFAULT 6000
#define BULK 50
#define REQUESTS_PER_SLUG 5

struct created {
	char slug[SLUG_SIZE];
	int64_t id;
	int owner;
};

/* Shared by all processes. */
struct shared {
	int64_t links; /* the total to create */
	_Atomic int64_t created, lost, collisions, purged;
	struct created created_links[]; /* room for links + PROCESSES * BULK */
};

static struct test_database *db;
static struct shared *shared;
static char alphabet[8];

static int64_t links_to_create(void)
{
	int64_t links = LINKS_DEFAULT;
	const char *text = getenv("SLUG_RIVALS_LINKS");
	return text && number_parse(text, 1, 1000000, &links) != OK ? LINKS_DEFAULT : links;
}

static int set_up(void **state)
{
	(void)state;
	db = test_database_new();
	int64_t links = links_to_create();
	size_t size =
		sizeof(*shared) + (size_t)(links + (PROCESSES + 1) * BULK) * sizeof(struct created);
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	shared->links = links;
	/*
	 * Four letters give 16,384 slugs of seven: a few thousand links collide often, a hundred
	 * thousand use them all.
	 */
	memcpy(alphabet, "abcd", sizeof("abcd"));
	test_database_run(
		db, "INSERT INTO users (email, password_hash) "
		    "SELECT 'rival-' || i || '@example.com', 'x' FROM generate_series(1, 8) AS i");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_database_close(db);
	return 0;
}

static void small_alphabet_slug(char out[static SLUG_SIZE], size_t length)
{
	entropy_text(alphabet, out, length);
}

/* Every second link requests a slug, and several links request the same one. */
static bool request_slug(char out[static SLUG_SIZE])
{
	if (entropy_below(2) == 0)
		return false;
	uint32_t different = (uint32_t)(shared->links / REQUESTS_PER_SLUG) + 1;
	snprintf(out, SLUG_SIZE, "slug-%u", entropy_below(different));
	return true;
}

static struct link_store_new plain(int owner, const char *slug)
{
	return (struct link_store_new){ .slug = slug,
		                        .original_url = "https://example.com/",
		                        .redirect_status = 302,
		                        .owner_id = owner };
}

/* Call after the commit: only then does the slug belong to the link. */
static void record(const struct link *link, int owner)
{
	struct created *entry = &shared->created_links[atomic_fetch_add(&shared->created, 1)];
	snprintf(entry->slug, sizeof(entry->slug), "%s", link->entry.slug);
	entry->id = link->entry.id;
	entry->owner = owner;
}

static void require(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "process: %s\n", what);
	_exit(1);
}

static void create_one(struct pg_conn *conn, int owner, struct link *link)
{
	char slug[SLUG_SIZE];
	bool has_slug = request_slug(slug);
	struct link_store_new wanted = plain(owner, has_slug ? slug : NULL);
	require(pg_conn_begin(conn) == OK, "begin");
	enum err err = slug_allocator_create(conn, &wanted, small_alphabet_slug, link);
	if (err == OK) {
		require(pg_conn_commit(conn) == OK, "commit");
		record(link, owner);
		return;
	}
	require(err == ERR_CONFLICT && has_slug, "only a requested slug may be used already");
	pg_conn_rollback(conn);
	atomic_fetch_add(&shared->lost, 1);
}

struct bulk {
	struct slug_allocator_item items[BULK];
	struct slug_allocator_item *all[BULK];
	struct link links[BULK];
	char slugs[BULK][SLUG_SIZE];
	size_t count;
};

static bool is_duplicate(const struct bulk *bulk, const char *slug)
{
	for (size_t i = 0; i < bulk->count; i++) {
		if (bulk->items[i].requested.slug &&
		    strcmp(bulk->items[i].requested.slug, slug) == 0)
			return true;
	}
	return false;
}

static void fill(struct bulk *bulk, int owner)
{
	memset(bulk, 0, sizeof(*bulk));
	while (bulk->count < BULK) {
		size_t i = bulk->count;
		bool has_slug = request_slug(bulk->slugs[i]);
		if (has_slug && is_duplicate(bulk, bulk->slugs[i]))
			continue;
		bulk->items[i].requested = plain(owner, has_slug ? bulk->slugs[i] : NULL);
		bulk->items[i].link = &bulk->links[i];
		bulk->count++;
	}
}

/* Runs rounds until all items are done. */
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
		err = slug_allocator_create_bulk(conn, bulk->all, left, small_alphabet_slug);
	}
	return err;
}

static void create_bulk(struct pg_conn *conn, int owner, struct bulk *bulk)
{
	enum err err;
	for (;;) {
		fill(bulk, owner);
		require(pg_conn_begin(conn) == OK, "begin");
		err = create_all(conn, bulk);
		if (err != ERR_CONFLICT)
			break;
		pg_conn_rollback(conn);
		atomic_fetch_add(&shared->collisions, 1);
	}
	require(err == OK && pg_conn_commit(conn) == OK, "commit of a bulk");
	for (size_t i = 0; i < BULK; i++) {
		if (bulk->items[i].err == OK)
			record(&bulk->links[i], owner);
		else
			atomic_fetch_add(&shared->lost, 1);
	}
}

static void compete(int owner)
{
	struct pg_conn *conn = test_database_connect(db, "waymark_links_api");
	struct bulk *bulk = mem_zero(sizeof(*bulk));
	struct link *link = mem_zero(sizeof(*link));
	while (atomic_load(&shared->created) < shared->links) {
		if (owner % 2)
			create_one(conn, owner, link);
		else
			create_bulk(conn, owner, bulk);
	}
	_exit(0);
}

/* Purges random links right after their creation: their slugs must not be used again. */
static void purge(void)
{
	struct pg_conn *conn = test_database_connect(db, "waymark_links_api");
	struct link *link = mem_zero(sizeof(*link));
	int64_t created;
	while ((created = atomic_load(&shared->created)) < shared->links) {
		const struct created *entry =
			created > PROCESSES * BULK ? &shared->created_links[entropy_below(
							     (uint32_t)created - PROCESSES * BULK)]
						   : NULL;
		if (!entry || !entry->owner)
			continue;
		require(pg_conn_begin(conn) == OK, "begin");
		enum err err = link_store_lock(conn, entry->id, entry->owner, link);
		if (err == OK)
			err = link_store_purge(conn, link);
		require(err == OK || err == ERR_NOT_FOUND, "purge");
		require(pg_conn_commit(conn) == OK, "commit");
		atomic_fetch_add(&shared->purged, err == OK);
	}
	_exit(0);
}

static int compare_slugs(const void *a, const void *b)
{
	return strcmp(((const struct created *)a)->slug, ((const struct created *)b)->slug);
}

static int64_t count_duplicates(void)
{
	int64_t duplicates = 0;
	qsort(shared->created_links, (size_t)shared->created, sizeof(struct created),
	      compare_slugs);
	for (int64_t i = 1; i < shared->created; i++)
		duplicates += strcmp(shared->created_links[i - 1].slug,
		                     shared->created_links[i].slug) == 0;
	return duplicates;
}

/*
 * Each recorded creator must own the link in the table, or the tombstone must have the link's id.
 */
static int64_t count_wrong_owners(void)
{
	int64_t wrong = 0;
	struct pg_conn *conn = test_database_connect(db, NULL);
	for (int64_t i = 0; i < shared->created; i++) {
		const struct created *entry = &shared->created_links[i];
		int64_t found = 0;
		struct pg_params params = { 0 };
		pg_params_text(&params, entry->slug);
		pg_params_int(&params, entry->id);
		pg_params_int(&params, entry->owner);
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

TEST_CASE(concurrent_requests_for_a_slug_have_exactly_one_winner)
{
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
	int64_t rows = test_database_ask(
		db, "SELECT (SELECT count(*) FROM links) + (SELECT count(*) FROM link_tombstones)");
	int64_t duplicates = count_duplicates();
	int64_t wrong = count_wrong_owners();
	print_message("slugs: %lld links by %d processes, %lld requested slugs used, %lld purged, "
	              "%lld bulks retried: duplicates %lld, wrong owners %lld\n",
	              (long long)shared->created, PROCESSES, (long long)shared->lost,
	              (long long)shared->purged, (long long)shared->collisions,
	              (long long)duplicates, (long long)wrong);
	assert_true(shared->lost > shared->links / 10);
	assert_true(shared->purged > 0);
	assert_int_equal(rows, shared->created);
	assert_int_equal(duplicates, 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(test_database_ask(db, "SELECT count(*) FROM outbox"),
	                 shared->created + shared->purged);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
