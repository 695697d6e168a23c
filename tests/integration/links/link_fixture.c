#include <stdint.h>

#include "tests/integration/links/link_fixture.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/outbox.h"
#include "tests/support/test.h"

int link_fixture_set_up(void **state)
{
	struct link_fixture *f = mem_zero(sizeof(*f));
	f->db = test_database_new();
	f->api = test_database_connect(f->db, "waymark_links_api");
	f->janitor = test_database_connect(f->db, "waymark_janitor");
	test_database_run(
		f->db,
		"INSERT INTO users (email, password_hash) VALUES ('a@example.com', 'x'), ('b@example.com', 'x')");
	*state = f;
	return 0;
}

int link_fixture_tear_down(void **state)
{
	struct link_fixture *f = *state;
	pg_conn_close(f->api);
	pg_conn_close(f->janitor);
	test_database_close(f->db);
	free(f);
	return 0;
}

int link_fixture_empty(void **state)
{
	struct link_fixture *f = *state;
	test_database_run(
		f->db,
		"TRUNCATE outbox, link_tombstones, link_aliases, link_visit_limits, shares, link_history, "
		"link_notes, dead_links, links");
	return 0;
}

struct link_write_new link_fixture_plain(const char *slug)
{
	return (struct link_write_new){
		.slug = slug,
		.original_url = "https://example.com/",
		.redirect_status = 302,
		.workspace_id = 1,
	};
}

enum err link_fixture_add(struct pg_conn *conn, const struct link_write_new *new_link,
                          struct link *out)
{
	bool is_created;
	enum err err = link_write_create(conn, new_link, 1, &out, &is_created);
	return err == OK && !is_created ? ERR_CONFLICT : err;
}

enum err link_fixture_update(struct pg_conn *conn, struct link *link, enum link_change change)
{
	return link_write_update(conn, link, &change, 1);
}

enum err link_fixture_create(struct pg_conn *conn, const struct link_write_new *new_link,
                             struct link *out)
{
	assert_int_equal(pg_conn_begin(conn), OK);
	enum err err = link_fixture_add(conn, new_link, out);
	if (err == OK)
		return pg_conn_commit(conn);
	pg_conn_rollback(conn);
	return err;
}

void link_fixture_make(struct link_fixture *f, const char *slug)
{
	struct link_write_new new_link = link_fixture_plain(slug);
	assert_int_equal(link_fixture_create(f->api, &new_link, &f->link), OK);
}

void link_fixture_change(struct link_fixture *f, int64_t id, enum link_state state,
                         enum link_change kind)
{
	assert_int_equal(pg_conn_begin(f->api), OK);
	assert_int_equal(link_store_lock(f->api, id, 1, &f->link), OK);
	f->link.entry.state = state;
	assert_int_equal(link_fixture_update(f->api, &f->link, kind), OK);
	assert_int_equal(pg_conn_commit(f->api), OK);
}

struct link_event *link_fixture_recorded(struct link_fixture *f, size_t index)
{
	struct outbox_batch batch;
	struct link_event *event = mem_zero(sizeof(*event));
	assert_int_equal(outbox_read(f->api, 100, 100, &batch), OK);
	assert_true(index < batch.count);
	assert_int_equal(
		link_event_decode(batch.rows[index].payload, batch.rows[index].payload_len, event),
		OK);
	assert_string_equal(batch.rows[index].slug, event->link.entry.slug);
	outbox_batch_clear(&batch);
	return event;
}
