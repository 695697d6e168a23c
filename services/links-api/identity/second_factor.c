#include "services/links-api/identity/second_factor.h"

#include <liboath/oath.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/postgres/sql_column.h"

/* Crockford's base 32: no letter that looks like a digit. */
#define ALPHABET "0123456789abcdefghjkmnpqrstvwxyz"
#define RECOVERY_LENGTH 16
#define GROUP 4
#define WINDOW_STEPS 1

/* --- codes --- */

/* Copies what is no separator, letters in lower case. The length; size: it does not fit. */
static size_t squeeze(const char *typed, char *out, size_t size)
{
	size_t len = 0;
	for (; *typed && len < size; typed++) {
		if (*typed == ' ' || *typed == '-')
			continue;
		bool is_upper = *typed >= 'A' && *typed <= 'Z';
		out[len++] = (char)(is_upper ? *typed - 'A' + 'a' : *typed);
	}
	if (len < size)
		out[len] = '\0';
	return len;
}

/* What people read in place of a digit. */
static void unify(char *text)
{
	for (; *text; text++)
		*text = (char)(*text == 'o' ? '0' : *text == 'i' || *text == 'l' ? '1' : *text);
}

enum err second_factor_parse(const char *typed, struct second_factor_code *out)
{
	char text[RECOVERY_LENGTH + 1];
	struct second_factor_code code = { 0 };
	size_t len = squeeze(typed, text, sizeof(text));
	code.is_recovery = len == RECOVERY_LENGTH;
	if (code.is_recovery) {
		unify(text);
		digest_sha256(text, len, code.hash);
		if (strspn(text, ALPHABET) != len)
			return ERR_INVALID;
	} else if (len == SECOND_FACTOR_DIGITS && strspn(text, "0123456789") == len) {
		memcpy(code.digits, text, sizeof(code.digits));
	} else {
		return ERR_INVALID;
	}
	*out = code;
	return OK;
}

enum err second_factor_step(const uint8_t secret[static SECOND_FACTOR_SECRET_BYTES],
                            const char digits[static SECOND_FACTOR_DIGITS + 1], int64_t now_us,
                            int64_t *step)
{
	uint64_t found = 0;
	int distance = oath_totp_validate3((const char *)secret, SECOND_FACTOR_SECRET_BYTES,
	                                   (time_t)(now_us / CLOCK_US_PER_S), SECOND_FACTOR_STEP_S,
	                                   0, WINDOW_STEPS, NULL, &found, digits);
	if (distance < 0)
		return ERR_NOT_FOUND;
	*step = (int64_t)found;
	return OK;
}

static void add_escaped(const char *text, struct strbuf *out)
{
	for (; *text; text++) {
		bool is_plain = strchr("-._~", *text) || (*text >= '0' && *text <= '9') ||
		                (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z');
		strbuf_add_format(out, is_plain ? "%c" : "%%%02X", (unsigned char)*text);
	}
}

void second_factor_url(const char *issuer, const char *email, const char *secret,
                       struct strbuf *out)
{
	strbuf_add_text(out, "otpauth://totp/");
	add_escaped(issuer, out);
	strbuf_add_char(out, ':');
	add_escaped(email, out);
	strbuf_add_format(out, "?secret=%s&issuer=", secret);
	add_escaped(issuer, out);
}

/* New codes for people, and their hashes for the database. */
static struct json *make_recovery_codes(struct sql_column *hashes)
{
	struct json *codes = json_new_array();
	for (int i = 0; i < SECOND_FACTOR_RECOVERY_CODES; i++) {
		char code[RECOVERY_LENGTH + 1], text[RECOVERY_LENGTH + RECOVERY_LENGTH / GROUP];
		uint8_t hash[DIGEST_SIZE];
		entropy_text(ALPHABET, code, RECOVERY_LENGTH);
		digest_sha256(code, RECOVERY_LENGTH, hash);
		sql_column_add_bytes(hashes, hash, sizeof(hash));
		snprintf(text, sizeof(text), "%.4s-%.4s-%.4s-%.4s", code, code + GROUP,
		         code + 2 * GROUP, code + 3 * GROUP);
		json_append_text(codes, text);
	}
	return codes;
}

/* --- in users --- */

#define HAS_FACTOR "id = $1 AND totp_confirmed_at IS NOT NULL"

static enum err write_secret(const uint8_t bytes[static SECOND_FACTOR_SECRET_BYTES],
                             char out[static SECOND_FACTOR_SECRET_SIZE])
{
	char *text = NULL;
	if (oath_base32_encode((const char *)bytes, SECOND_FACTOR_SECRET_BYTES, &text, NULL) !=
	    OATH_OK)
		return ERR_INTERNAL;
	snprintf(out, SECOND_FACTOR_SECRET_SIZE, "%s", text);
	free(text);
	return OK;
}

enum err second_factor_offer(struct pg_conn *conn, int64_t user_id, struct second_factor_offer *out)
{
	uint8_t made[SECOND_FACTOR_SECRET_BYTES], kept[SECOND_FACTOR_SECRET_BYTES] = { 0 };
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	entropy_fill(made, sizeof(made));
	pg_params_int(&params, user_id);
	pg_params_bytes(&params, made, sizeof(made));
	pg_params_int(&params, SECOND_FACTOR_OFFER_S);
	enum err err = pg_conn_query(
		conn,
		"WITH old AS (SELECT totp_secret, totp_secret IS NOT NULL AND totp_offered_at > "
		"clock_timestamp() - $3::bigint * interval '1 second' AS is_young FROM users "
		"WHERE id = $1 AND totp_confirmed_at IS NULL FOR NO KEY UPDATE) "
		"UPDATE users u SET totp_secret = CASE WHEN is_young THEN old.totp_secret ELSE $2 END, "
		"totp_offered_at = CASE WHEN is_young THEN totp_offered_at ELSE clock_timestamp() END "
		"FROM old WHERE id = $1 RETURNING u.totp_secret, old.totp_secret IS NOT NULL",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_CONFLICT;
	if (err == OK) {
		pg_result_bytes(rows, 0, 0, kept, sizeof(kept));
		out->is_new = memcmp(kept, made, sizeof(kept)) == 0;
		out->replaces_earlier = out->is_new && pg_result_bool(rows, 0, 1);
		err = write_secret(kept, out->secret);
	}
	pg_result_free(rows);
	return err;
}

/* ERR_NOT_FOUND: none in this state. */
static enum err find_secret(struct pg_conn *conn, int64_t user_id, bool is_confirmed,
                            uint8_t secret[static SECOND_FACTOR_SECRET_BYTES])
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, user_id);
	pg_params_bool(&params, is_confirmed);
	enum err err = pg_conn_query(conn,
	                             "SELECT totp_secret FROM users WHERE id = $1 AND totp_secret "
	                             "IS NOT NULL AND (totp_confirmed_at IS NOT NULL) = $2",
	                             &params, &rows);
	if (err == OK && pg_result_bytes(rows, 0, 0, secret, SECOND_FACTOR_SECRET_BYTES) !=
	                         SECOND_FACTOR_SECRET_BYTES)
		err = ERR_NOT_FOUND;
	pg_result_free(rows);
	return err;
}

/* ERR_CONFLICT: another request was first. */
static enum err confirm(struct pg_conn *conn, int64_t user_id, int64_t session_id,
                        const uint8_t *secret, int64_t step)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	pg_params_bytes(&params, secret, SECOND_FACTOR_SECRET_BYTES);
	pg_params_int(&params, step);
	pg_params_int(&params, session_id);
	enum err err = pg_conn_query_int(
		conn,
		"WITH changed AS (UPDATE users SET totp_confirmed_at = clock_timestamp(), totp_step = $3, "
		"token_generation = token_generation + 1, updated_at = clock_timestamp() "
		"WHERE id = $1 AND totp_secret = $2 AND totp_confirmed_at IS NULL RETURNING id), "
		"ended AS (DELETE FROM sessions s USING changed c WHERE s.user_id = c.id AND s.id <> $4) "
		"SELECT id FROM changed",
		&params, &user_id);
	return err == ERR_NOT_FOUND ? ERR_CONFLICT : err;
}

enum err second_factor_confirm(struct pg_conn *conn, int64_t user_id, int64_t session_id,
                               const struct second_factor_code *code, int64_t now_us,
                               struct json **codes)
{
	uint8_t secret[SECOND_FACTOR_SECRET_BYTES];
	int64_t step = 0;
	enum err err = find_secret(conn, user_id, false, secret);
	if (err == ERR_NOT_FOUND)
		return ERR_CONFLICT;
	if (err == OK)
		err = code->is_recovery ? ERR_NOT_FOUND
		                        : second_factor_step(secret, code->digits, now_us, &step);
	if (err == OK)
		err = confirm(conn, user_id, session_id, secret, step);
	return err == OK ? second_factor_renew(conn, user_id, codes) : err;
}

static enum err use_recovery_code(struct pg_conn *conn, int64_t user_id,
                                  const uint8_t hash[static DIGEST_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	return pg_conn_query_int(
		conn,
		"UPDATE users SET recovery_codes = array_remove(recovery_codes, $2) WHERE " HAS_FACTOR
		" AND $2 = ANY (recovery_codes) RETURNING id",
		&params, &user_id);
}

enum err second_factor_use(struct pg_conn *conn, int64_t user_id,
                           const struct second_factor_code *code, int64_t now_us)
{
	uint8_t secret[SECOND_FACTOR_SECRET_BYTES];
	struct pg_params params = { 0 };
	int64_t step = 0;
	if (code->is_recovery)
		return use_recovery_code(conn, user_id, code->hash);
	enum err err = find_secret(conn, user_id, true, secret);
	if (err == OK)
		err = second_factor_step(secret, code->digits, now_us, &step);
	if (err != OK)
		return err;
	pg_params_int(&params, user_id);
	pg_params_bytes(&params, secret, sizeof(secret));
	pg_params_int(&params, step);
	return pg_conn_query_int(conn,
	                         "UPDATE users SET totp_step = $3 WHERE " HAS_FACTOR
	                         " AND totp_secret = $2 AND totp_step < $3 RETURNING id",
	                         &params, &user_id);
}

enum err second_factor_renew(struct pg_conn *conn, int64_t user_id, struct json **codes)
{
	struct sql_column hashes;
	struct pg_params params = { 0 };
	sql_column_init_for(&hashes, SQL_COLUMN_BYTES, SECOND_FACTOR_RECOVERY_CODES, DIGEST_SIZE);
	struct json *made = make_recovery_codes(&hashes);
	pg_params_int(&params, user_id);
	enum err err = sql_column_param(&hashes, &params);
	if (err == OK)
		err = pg_conn_query_int(
			conn,
			"UPDATE users SET recovery_codes = $2::bytea[] WHERE " HAS_FACTOR
			" RETURNING id",
			&params, &user_id);
	sql_column_clear(&hashes);
	if (err == OK)
		*codes = made;
	else
		json_free(made);
	return err;
}

enum err second_factor_remove(struct pg_conn *conn, int64_t user_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	return pg_conn_query_int(conn,
	                         "UPDATE users SET totp_secret = NULL, totp_confirmed_at = NULL, "
	                         "recovery_codes = NULL WHERE " HAS_FACTOR " RETURNING id",
	                         &params, &user_id);
}

enum err second_factor_get(struct pg_conn *conn, int64_t user_id, struct second_factor *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, user_id);
	enum err err = pg_conn_query(
		conn,
		"SELECT totp_confirmed_at, COALESCE(cardinality(recovery_codes), 0), EXISTS (SELECT "
		"FROM members m JOIN workspaces w ON w.id = m.workspace_id WHERE m.user_id = u.id "
		"AND w.requires_second_factor AND w.deleted_at IS NULL) FROM users u WHERE u.id = $1",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		*out = (struct second_factor){ pg_result_time(rows, 0, 0),
			                       pg_result_int(rows, 0, 1),
			                       pg_result_bool(rows, 0, 2) };
	pg_result_free(rows);
	return err;
}
