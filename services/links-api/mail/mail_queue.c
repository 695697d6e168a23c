#include "services/links-api/mail/mail_queue.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/mail_address.h"

bool mail_queue_is_on(const struct request *r)
{
	return r->api->config->mail_from[0] != '\0';
}

/* The address in lower case, hashed: Redis keeps no addresses. */
static void address_subject(const char *to, char out[static RATE_LIMIT_SUBJECT_MAX + 1])
{
	char lower[MAIL_ADDRESS_MAX + 1] = "";
	uint8_t hash[DIGEST_SIZE];
	for (size_t i = 0; i < MAIL_ADDRESS_MAX && to[i]; i++)
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
