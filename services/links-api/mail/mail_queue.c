#include "services/links-api/mail/mail_queue.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/mail_address.h"

#define DATA_BYTES_MAX 65536

bool mail_queue_is_on(const struct request *r)
{
	return r->api->config->mail_from[0] != '\0';
}

enum err mail_queue_add(struct pg_conn *conn, const struct mail *mail)
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

/* The address in lower case, hashed: Redis keeps no addresses. */
static void address_subject(const char *to, char out[static RATE_LIMIT_SUBJECT_MAX + 1])
{
	char lower[MAIL_ADDRESS_MAX + 1] = "";
	uint8_t hash[DIGEST_SIZE];
	for (size_t i = 0; to[i] && i < MAIL_ADDRESS_MAX; i++)
		lower[i] = (char)tolower((unsigned char)to[i]);
	digest_sha256(lower, strlen(lower), hash);
	digest_hex(hash, sizeof(hash), out);
}

enum err mail_queue_count(const struct request *r, const char *to, struct rate_limit_rule *rule,
                          int64_t *reset_s)
{
	char subject[RATE_LIMIT_SUBJECT_MAX + 1];
	struct rate_limit_state state;
	if (r->user_id > 0)
		snprintf(subject, sizeof(subject), "%" PRId64, r->user_id);
	else
		request_network(r, subject);
	*rule = rate_limit_rule_of(r->api->config, LIMITS_MAILS);
	enum err err = rate_limit_take(r->api->limits, rule, subject, 1, &state);
	if (err == OK) {
		address_subject(to, subject);
		*rule = rate_limit_rule_of(r->api->config, LIMITS_MAILS_TO_ADDRESS);
		err = rate_limit_take(r->api->limits, rule, subject, 1, &state);
	}
	*reset_s = state.reset_s;
	return err;
}
