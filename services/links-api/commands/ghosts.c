#include "services/links-api/commands/ghosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/kafka/kafka_topic_reader.h"
#include "lib/links/outbox.h"
#include "lib/links/watermark.h"
#include "lib/postgres/sql_column.h"

#define KAFKA_TIMEOUT_MS 10000
#define POLL_MS 100
/* Kafka counts as gone when no record comes for so long. */
#define SILENCE_US (60 * CLOCK_US_PER_S)
#define PARTITIONS_MAX WATERMARK_PARTITIONS_MAX
/* The address of a ghost is not in its last event: nobody should keep it. */
#define NO_URL "about:blank"

struct name {
	char slug[SLUG_SIZE];
	/* Of the record with the highest version. */
	char alias_of[SLUG_SIZE];
	int64_t link_id;
	int64_t workspace_id;
	int64_t version;
	bool is_slug_chosen;
	bool is_slug_exact;
	/* That record purges it, or a tombstone follows. */
	bool is_gone;
	UT_hash_handle hh;
};

struct ghosts {
	int64_t version_base;
	size_t lacking_max;
	size_t slice, slices;
	struct name *names;
	/* Those of names that the database was not asked for yet. */
	struct name *unasked[GHOSTS_ASK_MAX];
	size_t unasked_count;
};

static void forget(struct ghosts *ghosts, struct name *name)
{
	HASH_DEL(ghosts->names, name);
	free(name);
}

static void forget_all(struct ghosts *ghosts)
{
	struct name *name, *next;
	HASH_ITER(hh, ghosts->names, name, next)
		forget(ghosts, name);
	ghosts->unasked_count = 0;
}

struct ghosts *ghosts_new(int64_t version_base, size_t lacking_max)
{
	struct ghosts *ghosts = mem_zero(sizeof(*ghosts));
	ghosts->version_base = version_base;
	ghosts->lacking_max = lacking_max;
	ghosts->slices = 1;
	return ghosts;
}

void ghosts_free(struct ghosts *ghosts)
{
	if (!ghosts)
		return;
	forget_all(ghosts);
	free(ghosts);
}

bool ghosts_has_slice(const struct ghosts *ghosts)
{
	return ghosts->slice < ghosts->slices;
}

/* --- which names the database lacks --- */

/*
 * One statement, one snapshot, so that a name which moves between the tables is seen. Of a name
 * whose link lives under another one, that one is returned too.
 */
static enum err find_lacking(struct pg_conn *conn, struct name *const *names, size_t count,
                             struct pg_result **rows)
{
	struct pg_params params = { 0 };
	struct sql_column slugs, ids;
	sql_column_init_for(&slugs, SQL_COLUMN_TEXT, count, SLUG_SIZE);
	sql_column_init_for(&ids, SQL_COLUMN_INT8, count, sizeof(int64_t));
	for (size_t i = 0; i < count; i++) {
		sql_column_add_text(&slugs, names[i]->slug);
		sql_column_add_int(&ids, names[i]->link_id);
	}
	enum err err = sql_column_param(&slugs, &params);
	if (err == OK)
		err = sql_column_param(&ids, &params);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"SELECT name.at - 1, coalesce(own.slug, '') "
			"FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS name (slug, id, at) "
			"LEFT JOIN links AS own ON own.id = name.id WHERE NOT EXISTS (SELECT FROM links "
			"WHERE slug_key = ANY (ARRAY[lower(name.slug), '=' || name.slug]) AND links.slug = name.slug) "
			"AND NOT EXISTS (SELECT FROM link_aliases AS alias WHERE alias.slug = name.slug) "
			"AND NOT EXISTS (SELECT FROM link_tombstones AS gone WHERE gone.slug = name.slug) "
			"ORDER BY name.at",
			&params, rows);
	sql_column_clear(&slugs);
	sql_column_clear(&ids);
	return err;
}

enum err ghosts_ask(struct ghosts *ghosts, struct pg_conn *conn)
{
	struct pg_result *rows = NULL;
	size_t count = ghosts->unasked_count, at = 0;
	if (count == 0)
		return OK;
	enum err err = find_lacking(conn, ghosts->unasked, count, &rows);
	if (err != OK)
		return err;
	for (size_t i = 0; i < pg_result_count(rows); i++, at++)
		while (at < (size_t)pg_result_int(rows, i, 0))
			forget(ghosts, ghosts->unasked[at++]);
	while (at < count)
		forget(ghosts, ghosts->unasked[at++]);
	ghosts->unasked_count = 0;
	pg_result_free(rows);
	if (HASH_COUNT(ghosts->names) <= ghosts->lacking_max)
		return OK;
	forget_all(ghosts);
	ghosts->slice = 0;
	ghosts->slices *= 2;
	return ERR_CONFLICT;
}

/* --- what the topic has --- */

static void learn(struct name *name, const struct link_event *event)
{
	const struct link_entry *entry = &event->link.entry;
	if (entry->version < name->version)
		return;
	snprintf(name->alias_of, sizeof(name->alias_of), "%s", entry->alias_of);
	name->link_id = entry->id;
	name->workspace_id = event->link.workspace_id;
	name->version = entry->version;
	name->is_slug_chosen = entry->is_slug_chosen;
	name->is_slug_exact = entry->is_slug_exact;
	name->is_gone = event->change == LINK_CHANGE_PURGED;
}

enum err ghosts_see(struct ghosts *ghosts, struct pg_conn *conn,
                    const struct kafka_message *message)
{
	struct link_event event;
	struct name *name;
	size_t len = message->key_len;
	if (!slug_is_valid(message->key, len) ||
	    hash_table_hash(hash_table_seed(), message->key, len) % ghosts->slices != ghosts->slice)
		return OK;
	HASH_FIND(hh, ghosts->names, message->key, len, name);
	if (!message->value) {
		if (name)
			name->is_gone = true;
		return OK;
	}
	/* What only a newer version understands is none of ours. */
	if (link_event_decode(message->value, message->value_len, &event) != OK) {
		event = (struct link_event){ .change = LINK_CHANGE_UPDATED };
		event.link.entry.version = INT64_MAX;
	}
	if (!name) {
		name = mem_zero(sizeof(*name));
		snprintf(name->slug, sizeof(name->slug), "%.*s", (int)len,
		         (const char *)message->key);
		HASH_ADD(hh, ghosts->names, slug, len, name);
		ghosts->unasked[ghosts->unasked_count++] = name;
	}
	learn(name, &event);
	return ghosts->unasked_count == GHOSTS_ASK_MAX ? ghosts_ask(ghosts, conn) : OK;
}

/* A pass over the topic, up to the ends that it had at the start. */
struct pass {
	int64_t ends[PARTITIONS_MAX];
	int32_t partitions;
	bool is_done[PARTITIONS_MAX];
	int32_t done;
	bool has_lost;
};

static void reach(struct pass *pass, int32_t partition, int64_t offset)
{
	if (partition >= pass->partitions || pass->is_done[partition] ||
	    offset < pass->ends[partition])
		return;
	pass->is_done[partition] = true;
	pass->done++;
}

static void on_found(void *ctx, int topic, int32_t count)
{
	(void)ctx;
	(void)topic;
	(void)count;
}

static void on_lost(void *ctx, int topic, int32_t partition)
{
	struct pass *pass = ctx;
	(void)topic;
	(void)partition;
	pass->has_lost = true;
}

static void on_end(void *ctx, int topic, int32_t partition, int64_t offset)
{
	(void)topic;
	reach(ctx, partition, offset);
}

static enum err read_pass(struct ghosts *ghosts, struct pg_conn *conn, struct pass *pass,
                          struct kafka_topic_reader *reader)
{
	struct kafka_message message;
	int64_t heard_us = clock_steady_us(clock_system());
	enum err err = kafka_topic_reader_query_ends(reader, 0, KAFKA_TIMEOUT_MS, pass->ends,
	                                             PARTITIONS_MAX, &pass->partitions);
	while (err == OK && pass->done < pass->partitions) {
		int64_t now_us = clock_steady_us(clock_system());
		err = kafka_topic_reader_poll(reader, POLL_MS, &message);
		if (pass->has_lost)
			return ERR_UNAVAILABLE;
		if (err == OK) {
			heard_us = now_us;
			if (message.partition < pass->partitions &&
			    !pass->is_done[message.partition])
				err = ghosts_see(ghosts, conn, &message);
			reach(pass, message.partition, message.offset + 1);
		} else if (err != ERR_INTERNAL) {
			err = now_us - heard_us < SILENCE_US ? OK : ERR_UNAVAILABLE;
		}
	}
	return err == OK ? ghosts_ask(ghosts, conn) : err;
}

enum err ghosts_read(struct ghosts *ghosts, struct pg_conn *conn, const struct kafka_config *kafka,
                     const struct log *log)
{
	for (;;) {
		struct pass pass = { 0 };
		struct kafka_topic_reader *reader = NULL;
		enum err err = kafka_topic_reader_new(
			&(struct kafka_topic_reader_config){
				.kafka = kafka,
				.topics = { LINK_EVENT_TOPIC },
				.tail = INT64_MAX,
				.events = { on_found, on_lost, on_end },
				.ctx = &pass,
				.log = log,
			},
			&reader);
		if (err == OK)
			err = read_pass(ghosts, conn, &pass, reader);
		kafka_topic_reader_free(reader);
		if (err != ERR_CONFLICT)
			return err;
	}
}

/* --- their end --- */

static void add_end(struct outbox_bulk *events, const struct ghosts *ghosts,
                    const struct name *name, const char *living_slug)
{
	int64_t now_us = clock_now_us(clock_system());
	struct link_event event = { .occurred_at_us = now_us, .change = LINK_CHANGE_PURGED };
	struct link *link = &event.link;
	entropy_uuid7(now_us, event.event_id);
	link->entry.id = name->link_id;
	link->entry.version = ghosts->version_base;
	link->entry.state = LINK_STATE_DELETED;
	link->entry.redirect_status = 302;
	link->entry.is_slug_chosen = name->is_slug_chosen;
	link->entry.is_slug_exact = name->is_slug_exact;
	link->type = LINK_TYPE_TEMPORARY;
	link->workspace_id = name->workspace_id;
	link->created_at_us = link->updated_at_us = now_us;
	snprintf(link->entry.slug, sizeof(link->entry.slug), "%s", name->slug);
	snprintf(link->entry.alias_of, sizeof(link->entry.alias_of), "%s",
	         living_slug[0] ? living_slug : name->alias_of);
	snprintf(link->entry.original_url, sizeof(link->entry.original_url), NO_URL);
	outbox_bulk_add(events, &event);
}

/* Nobody makes one of the names before our commit; its event comes after ours then. */
static enum err lock_links(struct pg_conn *conn)
{
	enum err err = pg_conn_query(conn, "SET LOCAL lock_timeout = '5s'", NULL, NULL);
	return err == OK ? pg_conn_query(conn, "LOCK TABLE links IN SHARE MODE", NULL, NULL) : err;
}

static enum err end_names(struct ghosts *ghosts, struct pg_conn *conn, struct name *const *names,
                          size_t count, size_t *ended)
{
	struct pg_result *rows = NULL;
	struct outbox_bulk events;
	enum err err = lock_links(conn);
	if (err == OK)
		err = find_lacking(conn, names, count, &rows);
	if (err != OK)
		return err;
	*ended = pg_result_count(rows);
	outbox_bulk_init(&events, OUTBOX_BACKGROUND, *ended);
	events.is_cached = true;
	for (size_t i = 0; i < *ended; i++)
		add_end(&events, ghosts, names[pg_result_int(rows, i, 0)],
		        pg_result_text(rows, i, 1));
	pg_result_free(rows);
	err = outbox_bulk_insert(&events, conn);
	outbox_bulk_clear(&events);
	return err;
}

enum err ghosts_end_next(struct ghosts *ghosts, struct pg_conn *conn, size_t *names, size_t *ended)
{
	struct name *batch[GHOSTS_END_MAX];
	struct name *name, *next;
	size_t count = 0;
	enum err err = OK;
	*ended = 0;
	HASH_ITER(hh, ghosts->names, name, next) {
		if (count == GHOSTS_END_MAX)
			break;
		if (name->version <= ghosts->version_base && !name->is_gone)
			batch[count++] = name;
		else
			forget(ghosts, name);
	}
	if (count > 0)
		err = end_names(ghosts, conn, batch, count, ended);
	else
		ghosts->slice++;
	for (size_t i = 0; i < count; i++)
		forget(ghosts, batch[i]);
	*names = count;
	return err;
}
