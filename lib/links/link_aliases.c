#include "lib/links/link_aliases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/links/link_row.h"
#include "lib/links/outbox.h"
#include "lib/postgres/sql_column.h"

#define COLUMNS "link_id, created_at, slug_chosen, slug_exact, slug"

static void read_alias(const struct pg_result *rows, size_t row, struct link_alias *out)
{
	out->link_id = pg_result_int(rows, row, 0);
	out->created_at_us = pg_result_time(rows, row, 1);
	out->is_slug_chosen = pg_result_bool(rows, row, 2);
	out->is_slug_exact = pg_result_bool(rows, row, 3);
	snprintf(out->slug, sizeof(out->slug), "%s", pg_result_text(rows, row, 4));
}

/* --- the aliases of some links --- */

void link_aliases_want(struct link_aliases *aliases, const struct link *link)
{
	if (link->alias_count == 0)
		return;
	aliases->links =
		mem_resize(aliases->links, aliases->link_count + 1, sizeof(*aliases->links));
	aliases->links[aliases->link_count].id = link->entry.id;
	aliases->links[aliases->link_count++].version = link->entry.version;
}

/* $1: the ids; with last_state, $3, also $2: the versions. */
static enum err run(const struct link_aliases *aliases, struct pg_conn *conn, const char *sql,
                    const char *last_state, struct pg_result **rows)
{
	struct sql_column ids, versions;
	struct pg_params params = { 0 };
	sql_column_init_for(&ids, SQL_COLUMN_INT8, aliases->link_count, sizeof(int64_t));
	sql_column_init_for(&versions, SQL_COLUMN_INT8, aliases->link_count, sizeof(int64_t));
	for (size_t i = 0; i < aliases->link_count; i++) {
		sql_column_add_int(&ids, aliases->links[i].id);
		sql_column_add_int(&versions, aliases->links[i].version);
	}
	enum err err = sql_column_param(&ids, &params);
	if (err == OK && last_state) {
		err = sql_column_param(&versions, &params);
		pg_params_text(&params, last_state);
	}
	if (err == OK)
		err = pg_conn_query(conn, sql, &params, rows);
	sql_column_clear(&ids);
	sql_column_clear(&versions);
	return err;
}

enum err link_aliases_read(struct link_aliases *aliases, struct pg_conn *conn)
{
	struct pg_result *rows = NULL;
	if (aliases->link_count == 0)
		return OK;
	enum err err =
		run(aliases, conn,
	            "SELECT " COLUMNS " FROM link_aliases WHERE link_id = ANY ($1::bigint[]) "
	            "ORDER BY link_id, created_at DESC, slug",
	            NULL, &rows);
	if (err == OK) {
		free(aliases->rows);
		aliases->count = pg_result_count(rows);
		aliases->rows = mem_array(aliases->count, sizeof(*aliases->rows));
		for (size_t i = 0; i < aliases->count; i++)
			read_alias(rows, i, &aliases->rows[i]);
	}
	pg_result_free(rows);
	return err;
}

size_t link_aliases_of(const struct link_aliases *aliases, int64_t link_id,
                       const struct link_alias **first)
{
	size_t begin = 0, end = aliases->count, count = 0;
	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		if (aliases->rows[middle].link_id < link_id)
			begin = middle + 1;
		else
			end = middle;
	}
	while (begin + count < aliases->count && aliases->rows[begin + count].link_id == link_id)
		count++;
	*first = count > 0 ? &aliases->rows[begin] : NULL;
	return count;
}

void link_aliases_clear(struct link_aliases *aliases)
{
	free(aliases->links);
	free(aliases->rows);
	*aliases = (struct link_aliases){ 0 };
}

/* --- events --- */

void link_aliases_to_event(const struct link_alias *alias, struct link_event *event)
{
	struct link_entry *entry = &event->link.entry;
	memcpy(entry->alias_of, entry->slug, sizeof(entry->alias_of));
	memcpy(entry->slug, alias->slug, sizeof(entry->slug));
	entry->is_slug_chosen = alias->is_slug_chosen;
	entry->is_slug_exact = alias->is_slug_exact;
	entropy_uuid7(event->occurred_at_us, event->event_id);
}

enum err link_aliases_add_ended(struct pg_conn *conn, const struct link *link,
                                const struct link_aliases_ended *ended)
{
	struct link_event event;
	enum err err = OK;
	for (size_t i = 0; err == OK && i < ended->count; i++) {
		link_row_to_event(link, LINK_CHANGE_PURGED, &event);
		event.link.entry.state = LINK_STATE_DELETED;
		event.link.alias_count = 0;
		link_aliases_to_event(&ended->names[i], &event);
		err = outbox_add(conn, &event);
	}
	return err;
}

/* --- changes --- */

static bool is_same_name(const struct link_alias *name, const struct link_entry *entry)
{
	return strcmp(name->slug, entry->slug) == 0 ||
	       (!(name->is_slug_exact && entry->is_slug_exact) &&
	        strcasecmp(name->slug, entry->slug) == 0);
}

/* The slug of entry takes over this name, which may have been spelled otherwise. */
static void take_over(const struct link_alias *name, struct link_entry *entry,
                      struct link_aliases_ended *ended)
{
	entry->is_slug_exact = entry->is_slug_exact && name->is_slug_exact;
	if (strcmp(name->slug, entry->slug) != 0)
		ended->names[ended->count++] = *name;
}

static enum err delete_alias(struct pg_conn *conn, const struct link_alias *alias)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, alias->slug);
	return pg_conn_query(conn, "DELETE FROM link_aliases WHERE slug = $1", &params, NULL);
}

static enum err insert_alias(struct pg_conn *conn, const struct link_alias *alias)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, alias->slug);
	pg_params_bool(&params, alias->is_slug_chosen);
	pg_params_bool(&params, alias->is_slug_exact);
	pg_params_int(&params, alias->link_id);
	return pg_conn_query(conn,
	                     "INSERT INTO link_aliases (slug, slug_chosen, slug_exact, link_id) "
	                     "VALUES ($1, $2, $3, $4)",
	                     &params, NULL);
}

/*
 * Deletes the own aliases that the new slug is or covers: two exact ones that differ by case, if it is
 * found in either case. *kept: how many stay.
 */
static enum err take_aliases_back(struct pg_conn *conn, struct link *link,
                                  struct link_aliases_ended *ended, size_t *kept)
{
	struct link_aliases own = { 0 };
	link_aliases_want(&own, link);
	enum err err = link_aliases_read(&own, conn);
	*kept = own.count;
	for (size_t i = 0; err == OK && i < own.count; i++) {
		const struct link_alias *alias = &own.rows[i];
		if (!is_same_name(alias, &link->entry))
			continue;
		take_over(alias, &link->entry, ended);
		(*kept)--;
		err = delete_alias(conn, alias);
	}
	link_aliases_clear(&own);
	return err;
}

struct link_alias link_aliases_slug(const struct link_entry *entry)
{
	struct link_alias name = { .link_id = entry->id,
		                   .is_slug_chosen = entry->is_slug_chosen,
		                   .is_slug_exact = entry->is_slug_exact };
	memcpy(name.slug, entry->slug, sizeof(name.slug));
	return name;
}

enum err link_aliases_rename(struct pg_conn *conn, const struct link_alias *before,
                             struct link *link, struct link_aliases_ended *ended)
{
	size_t kept = 0;
	if (strcmp(before->slug, link->entry.slug) == 0)
		return OK;
	link->entry.is_slug_chosen = true;
	enum err err = take_aliases_back(conn, link, ended, &kept);
	if (err != OK)
		return err;
	link->alias_count = (int)kept;
	if (is_same_name(before, &link->entry)) {
		take_over(before, &link->entry, ended);
		return OK;
	}
	link->alias_count++;
	return kept < LINK_ALIASES_MAX ? insert_alias(conn, before) : ERR_LIMIT;
}

enum err link_aliases_remove(struct pg_conn *conn, struct link *link, const char *slug,
                             struct link_aliases_ended *ended)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, link->entry.id);
	pg_params_text(&params, slug);
	pg_params_text(&params, link_state_stored(link->entry.state));
	pg_params_int(&params, link->entry.version + 1);
	enum err err = pg_conn_query(
		conn,
		"WITH gone AS (DELETE FROM link_aliases WHERE link_id = $1 AND slug = $2 RETURNING *), "
		"tombstone AS (INSERT INTO link_tombstones (slug, slug_exact, link_id, last_state, version) "
		"SELECT slug, slug_exact, link_id, $3, $4 FROM gone) SELECT " COLUMNS " FROM gone",
		&params, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		read_alias(rows, 0, &ended->names[0]);
		ended->count = 1;
		link->alias_count--;
	}
	pg_result_free(rows);
	return err;
}

enum err link_aliases_purge(struct pg_conn *conn, const struct link_aliases *aliases,
                            enum link_state last_state)
{
	if (aliases->link_count == 0)
		return OK;
	return run(
		aliases, conn,
		"WITH gone AS (DELETE FROM link_aliases WHERE link_id = ANY ($1::bigint[]) RETURNING *) "
		"INSERT INTO link_tombstones (slug, slug_exact, link_id, last_state, version) "
		"SELECT slug, slug_exact, link_id, $3, version FROM gone "
		"JOIN unnest($1::bigint[], $2::bigint[]) AS link (id, version) ON id = link_id",
		link_state_stored(last_state), NULL);
}
