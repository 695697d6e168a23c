#include "lib/mail/mail_outbox.h"

#include "lib/base/mail_address.h"

#define DATA_BYTES_MAX 65536

enum err mail_outbox_add(struct pg_conn *conn, const struct mail *mail)
{
	if (!mail_address_is_valid(mail->to))
		return ERR_INVALID;
	struct pg_params params = { 0 };
	struct strbuf data;
	strbuf_init(&data, DATA_BYTES_MAX);
	json_write(mail->data, &data);
	pg_params_text(&params, mail->kind);
	pg_params_text(&params, mail->to);
	pg_params_text(&params, mail->locale ? mail->locale : "");
	pg_params_int(&params, mail->workspace_id);
	pg_params_text(&params, data.data);
	enum err err = strbuf_status(&data);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"INSERT INTO mail_outbox (kind, address, locale, workspace_id, data) "
			"VALUES ($1, $2, $3, NULLIF($4::bigint, 0), $5::jsonb)",
			&params, NULL);
	strbuf_clear(&data);
	return err;
}
