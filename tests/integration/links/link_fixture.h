/*
 * One thread at a time. What tests of links in PostgreSQL share: one database for all tests of a program, with the
 * users 1 and 2, and connections to it. Each test has slugs of its own, and the tables are emptied before it.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_LINKS_LINK_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_LINKS_LINK_FIXTURE_H

#include "lib/links/link_event.h"
#include "lib/links/link_store.h"
#include "tests/support/test_database.h"

struct link_fixture {
	struct test_database *db;
	struct pg_conn *api;     /* with the rights of links-api */
	struct pg_conn *janitor; /* with those of the janitor */
	struct link link;
	struct link other;
};

/* For cmocka: of the group, and before each test. */
int link_fixture_set_up(void **state);
int link_fixture_tear_down(void **state);
int link_fixture_empty(void **state);

/* A link of user 1 without anything that may be left out. */
struct link_store_new link_fixture_plain(const char *slug);

/* In a transaction of its own. */
enum err link_fixture_create(struct pg_conn *conn, const struct link_store_new *new_link, struct link *out);

/* A plain link, which must succeed; it is f->link. */
void link_fixture_make(struct link_fixture *f, const char *slug);

/* Changes the link of that id as its owner would; it is f->link then. */
void link_fixture_change(struct link_fixture *f, int64_t id, enum link_state state, enum link_change kind);

/* The event at a place in the outbox; free it. */
struct link_event *link_fixture_recorded(struct link_fixture *f, size_t place);

#endif
