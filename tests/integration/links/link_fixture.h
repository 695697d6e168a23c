/*
 * A shared fixture for tests of links in PostgreSQL: one database per test program, with the users
 * 1 and 2 and connections to it. The tables are emptied before each test. One thread at a time.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_LINKS_LINK_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_LINKS_LINK_FIXTURE_H

#include "lib/links/link_event.h"
#include "lib/links/link_store.h"
#include "services/links-api/links/link_write.h"
#include "tests/support/test_database.h"

struct link_fixture {
	struct test_database *db;
	/* With the rights of links-api. */
	struct pg_conn *api;
	/* With the rights of the janitor. */
	struct pg_conn *janitor;
	struct link link;
	struct link other;
};

/* For cmocka: set_up and tear_down of the group, empty before each test. */
int link_fixture_set_up(void **state);
int link_fixture_tear_down(void **state);
int link_fixture_empty(void **state);

/* A link of user 1 with only the required fields. */
struct link_write_new link_fixture_plain(const char *slug);

/*
 * Creates a link in the open transaction. ERR_CONFLICT: its slug is taken or was used before. Else
 * as link_write_create.
 */
enum err link_fixture_add(struct pg_conn *conn, const struct link_write_new *new_link,
                          struct link *out);

/* As link_write_update, of one link. */
enum err link_fixture_update(struct pg_conn *conn, struct link *link, enum link_change change);

/* Creates a link in a separate transaction. */
enum err link_fixture_create(struct pg_conn *conn, const struct link_write_new *new_link,
                             struct link *out);

/* Creates a plain link in f->link. Fails the test if that fails. */
void link_fixture_make(struct link_fixture *f, const char *slug);

/* Changes the state of the link with this ID as its owner would. f->link is the link then. */
void link_fixture_change(struct link_fixture *f, int64_t id, enum link_state state,
                         enum link_change kind);

/* The event at an index of the outbox; free it. */
struct link_event *link_fixture_recorded(struct link_fixture *f, size_t index);

#endif
