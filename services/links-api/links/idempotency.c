#include "services/links-api/links/idempotency.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/answer.h"

#define OWNED_KEY_SIZE (CLIENT_IP_NETWORK_SIZE + IDEMPOTENCY_KEY_MAX + 32)

static bool is_key(const char *text)
{
	size_t len = strlen(text);
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '!' || text[i] > '~')
			return false;
	}
	return len >= 1 && len <= IDEMPOTENCY_KEY_MAX;
}

/* Whose key it is, and the key. */
static void own_key(const struct request *r, const char *key, char out[static OWNED_KEY_SIZE])
{
	char network[CLIENT_IP_NETWORK_SIZE] = "";
	if (r->user_id == 0)
		request_network(r, network);
	snprintf(out, OWNED_KEY_SIZE, "%" PRId64 " %s\n%s", r->user_id, network, key);
}

/* With the route and not the path: /api/urls is another name of /api/links. */
static void hash_request(const struct request *r, uint8_t out[static DIGEST_SIZE])
{
	size_t body_len;
	const char *body = http_exchange_body(r->exchange, &body_len);
	uint8_t of_body[DIGEST_SIZE];
	digest_sha256(body, body_len, of_body);
	const char *route = r->match.route->pattern;
	digest_hmac_sha256(of_body, sizeof(of_body), route, strlen(route), out);
}

enum err idempotency_read(struct request *r, struct idempotency *out)
{
	static const char for_storing[] = "waymark idempotency key", for_sealing[] = "waymark idempotency answer";
	const char *header = http_exchange_joined_header(r->exchange, "Idempotency-Key");
	*out = (struct idempotency){ .is_asked_for = header != NULL };
	if (!header)
		return OK;
	if (!is_key(header))
		return ERR_INVALID;
	char key[IDEMPOTENCY_KEY_MAX + 1]; /* asking for another header ends the first */
	char owned[OWNED_KEY_SIZE];
	snprintf(key, sizeof(key), "%s", header);
	own_key(r, key, owned);
	digest_hmac_sha256(for_storing, strlen(for_storing), owned, strlen(owned), out->key_hash);
	digest_hmac_sha256(for_sealing, strlen(for_sealing), owned, strlen(owned), out->seal_key);
	hash_request(r, out->request_hash);
	return OK;
}

static enum err open_answer(const struct idempotency *i, const struct idempotency_row *row, struct kept_answer *answer)
{
	char *packed = mem_zero(row->answer_len);
	enum err err = seal_open(i->seal_key, row->answer, row->answer_len, packed);
	if (err == OK)
		err = kept_answer_unpack(packed, row->answer_len - SEAL_OVERHEAD, answer);
	free(packed);
	return err == OK ? OK : ERR_INTERNAL;
}

enum err idempotency_begin(const struct idempotency *i, struct pg_conn *conn, enum idempotency_state *state,
                           struct kept_answer *answer, struct idempotency_row *row)
{
	*state = IDEMPOTENCY_NEW;
	if (!i->is_asked_for)
		return OK;
	enum err err = idempotency_store_take(conn, i->key_hash, row);
	if (err == ERR_NOT_FOUND)
		return OK;
	if (err == ERR_LIMIT) {
		*state = IDEMPOTENCY_IN_FLIGHT;
		return OK;
	}
	if (err != OK)
		return err;
	*state = digest_equal(row->request_hash, i->request_hash) ? IDEMPOTENCY_DONE : IDEMPOTENCY_REUSED;
	return *state == IDEMPOTENCY_DONE ? open_answer(i, row, answer) : OK;
}

enum err idempotency_keep(const struct idempotency *i, struct pg_conn *conn, const struct kept_answer *answer,
                          char (*slugs)[SLUG_SIZE], size_t slug_count)
{
	if (!i->is_asked_for)
		return OK;
	struct strbuf packed;
	kept_answer_pack(answer, &packed);
	struct idempotency_row row = { .slugs = slugs, .slug_count = slug_count };
	memcpy(row.request_hash, i->request_hash, DIGEST_SIZE);
	row.answer_len = packed.len + SEAL_OVERHEAD;
	row.answer = mem_zero(row.answer_len);
	seal_close(i->seal_key, packed.data, packed.len, row.answer);
	enum err err = idempotency_store_keep(conn, i->key_hash, &row);
	free(row.answer);
	strbuf_clear(&packed);
	return err;
}

enum http_progress idempotency_answer_bad_key(struct request *r)
{
	return answer_problem(r, 400, "idempotency-key", "Idempotency-Key must be 1 to 255 visible ASCII characters.");
}

enum http_progress idempotency_answer_refused(struct request *r, enum idempotency_state state)
{
	if (state == IDEMPOTENCY_REUSED)
		return answer_problem(r, 422, "idempotency-key-reused",
		                      "This Idempotency-Key came with another path or body before.");
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	return answer_problem(r, 409, "idempotency-key-in-flight",
	                      "The request with this Idempotency-Key is still being done.");
}
