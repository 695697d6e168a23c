#include "lib/links/link_row.h"

#include <stdio.h>
#include <string.h>

#include "lib/links/outbox.h"

#define TAG_SEPARATOR '\x1f'

static bool copy_text(const char *text, char *out, size_t size)
{
	return (size_t)snprintf(out, size, "%s", text) < size;
}

enum err link_row_read_entry(const struct pg_result *rows, size_t row, struct link_entry *out)
{
	int64_t status = pg_result_int(rows, row, 4);
	out->id = pg_result_int(rows, row, 0);
	out->version = pg_result_int(rows, row, 2);
	out->redirect_status = (uint16_t)status;
	out->expires_at_us = pg_result_time(rows, row, 6);
	out->starts_at_us = pg_result_time(rows, row, 8);
	out->is_slug_chosen = pg_result_bool(rows, row, 9);
	out->is_slug_exact = pg_result_bool(rows, row, 10);
	out->is_blocked = !pg_result_is_null(rows, row, 12);
	out->lacks_extras = false;
	out->alias_of[0] = '\0';
	size_t extras_len = pg_result_bytes(rows, row, 11, out->extras, sizeof(out->extras));
	out->extras_len = (uint16_t)extras_len;
	if (extras_len > sizeof(out->extras) ||
	    !copy_text(pg_result_text(rows, row, 1), out->slug, sizeof(out->slug)) ||
	    !copy_text(pg_result_text(rows, row, 5), out->original_url,
	               sizeof(out->original_url)) ||
	    !copy_text(pg_result_text(rows, row, 7), out->expired_url, sizeof(out->expired_url)) ||
	    link_state_parse_stored(pg_result_text(rows, row, 3), &out->state) != OK ||
	    !link_redirect_status_is_valid(status))
		return ERR_INTERNAL;
	return OK;
}

static enum err split_tags(const char *text, struct link_tags *out)
{
	out->count = 0;
	while (*text != '\0') {
		const char *end = strchrnul(text, TAG_SEPARATOR);
		size_t len = (size_t)(end - text);
		if (out->count == LINK_TAGS_MAX || len >= LINK_TAG_SIZE)
			return ERR_INTERNAL;
		char *tag = out->tag[out->count++];
		memcpy(tag, text, len);
		tag[len] = '\0';
		text = *end == '\0' ? end : end + 1;
	}
	return OK;
}

enum err link_row_join_tags(const struct link_tags *tags, char out[static LINK_ROW_TAGS_SIZE])
{
	size_t len = 0;
	for (size_t i = 0; tags && i < tags->count; i++) {
		size_t tag_len = strlen(tags->tag[i]);
		if (tag_len == 0 || memchr(tags->tag[i], TAG_SEPARATOR, tag_len))
			return ERR_INVALID;
		if (i > 0)
			out[len++] = TAG_SEPARATOR;
		memcpy(out + len, tags->tag[i], tag_len);
		len += tag_len;
	}
	out[len] = '\0';
	return OK;
}

/* NULL reads as "", which is not a state. */
static enum link_state read_state_before_deletion(const char *text)
{
	enum link_state state;
	return link_state_parse_stored(text, &state) == OK ? state : (enum link_state)0;
}

enum err link_row_read(const struct pg_result *rows, size_t row, struct link *out)
{
	enum err err = link_row_read_entry(rows, row, &out->entry);
	if (err != OK)
		return err;
	out->workspace_id = pg_result_int(rows, row, 14);
	out->created_at_us = pg_result_time(rows, row, 17);
	out->updated_at_us = pg_result_time(rows, row, 18);
	out->state_before_deletion = read_state_before_deletion(pg_result_text(rows, row, 19));
	out->deleted_at_us = pg_result_time(rows, row, 20);
	out->created_by = pg_result_int(rows, row, 21);
	out->alias_count = (int)pg_result_int(rows, row, 23);
	out->features = (unsigned)pg_result_int(rows, row, 24);
	if (link_type_parse_stored(pg_result_text(rows, row, 13), &out->type) != OK ||
	    !copy_text(pg_result_text(rows, row, 15), out->title, sizeof(out->title)) ||
	    !copy_text(pg_result_text(rows, row, 12), out->blocked_reason,
	               sizeof(out->blocked_reason)) ||
	    !copy_text(pg_result_text(rows, row, 22), out->external_id, sizeof(out->external_id)))
		return ERR_INTERNAL;
	return split_tags(pg_result_text(rows, row, 16), &out->tags);
}

enum err link_row_query(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                        struct link *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	struct link link;
	if (err == OK)
		err = pg_result_count(rows) == 1 ? link_row_read(rows, 0, &link) : ERR_NOT_FOUND;
	if (err == OK)
		link_copy(out, &link);
	pg_result_free(rows);
	return err;
}

void link_row_to_event(const struct link *link, enum link_change change, struct link_event *out)
{
	out->occurred_at_us = link->updated_at_us;
	out->change = change;
	link_copy(&out->link, link);
	entropy_uuid7(out->occurred_at_us, out->event_id);
}

enum err link_row_add_event(struct pg_conn *conn, const struct link *link, enum link_change change)
{
	struct link_event event;
	link_row_to_event(link, change, &event);
	return outbox_add(conn, &event);
}
