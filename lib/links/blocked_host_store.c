#include "lib/links/blocked_host_store.h"

#include <stdio.h>

enum err blocked_host_store_add(struct pg_conn *conn, struct blocked_host *host)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, host->host);
	pg_params_bool(&params, host->with_subdomains);
	pg_params_text(&params, host->reason);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"INSERT INTO blocked_hosts (host, with_subdomains, reason) VALUES ($1, $2, $3) "
		"RETURNING id, created_at",
		&params, &rows);
	if (err == OK) {
		host->id = pg_result_int(rows, 0, 0);
		host->created_at_us = pg_result_time(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

enum err blocked_host_store_delete(struct pg_conn *conn, struct blocked_host *host)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, host->id);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn, "DELETE FROM blocked_hosts WHERE id = $1 RETURNING host, with_subdomains",
		&params, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		snprintf(host->host, sizeof(host->host), "%s", pg_result_text(rows, 0, 0));
		host->with_subdomains = pg_result_bool(rows, 0, 1);
	}
	pg_result_free(rows);
	return err;
}

enum err blocked_host_store_list(struct pg_conn *conn, blocked_host_callback on_host, void *ctx)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT id, host, with_subdomains, reason, created_at FROM blocked_hosts ORDER BY host",
		NULL, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		struct blocked_host host = {
			.id = pg_result_int(rows, i, 0),
			.with_subdomains = pg_result_bool(rows, i, 2),
			.created_at_us = pg_result_time(rows, i, 4),
		};
		snprintf(host.host, sizeof(host.host), "%s", pg_result_text(rows, i, 1));
		snprintf(host.reason, sizeof(host.reason), "%s", pg_result_text(rows, i, 3));
		on_host(ctx, &host);
	}
	pg_result_free(rows);
	return err;
}

enum err blocked_host_store_version(struct pg_conn *conn, int64_t *version)
{
	return pg_conn_query_int(conn, "SELECT version FROM blocked_hosts_state", NULL, version);
}

/* One statement, so that version and hosts are consistent. Without hosts it gives one row. */
enum err blocked_host_store_read(struct pg_conn *conn, struct strbuf *list, int64_t *version)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn,
	                             "SELECT version, host, with_subdomains "
	                             "FROM blocked_hosts_state LEFT JOIN blocked_hosts ON true",
	                             NULL, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		*version = pg_result_int(rows, i, 0);
		if (!pg_result_is_null(rows, i, 1))
			strbuf_add_format(list, "%s%s\n", pg_result_bool(rows, i, 2) ? "." : "",
			                  pg_result_text(rows, i, 1));
	}
	pg_result_free(rows);
	return err == OK ? strbuf_status(list) : err;
}
