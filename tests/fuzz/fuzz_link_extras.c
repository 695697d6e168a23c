/*
 * Encoded extras from anywhere. What is opened keeps all bounds, is read back as it is written, and
 * gives every visitor one of its own answers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/links/link_decision.h"
#include "lib/links/link_extras.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_answer(const Waymark__V1__LinkExtras *extras, const struct link_decision *decision)
{
	if (strcmp(decision->url, "original") == 0)
		return true;
	for (size_t i = 0; i < extras->n_rules; i++)
		if (decision->url == extras->rules[i]->url)
			return decision->rule == extras->rules[i]->name;
	for (size_t i = 0; i < extras->n_variants; i++)
		if (decision->url == extras->variants[i]->url)
			return decision->variant == extras->variants[i]->name;
	return false;
}

/* The last bytes also make the visitor. */
static void try_visitor(const Waymark__V1__LinkExtras *extras, const uint8_t *data, size_t size)
{
	uint8_t hash[LINK_VISITOR_HASH_SIZE] = { 0 };
	char query[64] = { 0 };
	struct link_visitor visitor = { .country = "DE", .language = "de-CH", .query = query };
	memcpy(hash, data + (size > sizeof(hash) ? size - sizeof(hash) : 0),
	       size < sizeof(hash) ? size : sizeof(hash));
	memcpy(&visitor.now_us, hash, sizeof(visitor.now_us));
	memcpy(&visitor.random, hash + 8, sizeof(visitor.random));
	memcpy(query, hash, sizeof(hash));
	visitor.visitor_hash = hash[0] & 1 ? hash : NULL;
	visitor.referrer_host = hash[0] & 2 ? query : NULL;
	struct link_decision decision;
	link_decision_take(extras, INT64_MAX, "original", &visitor, &decision);
	if (decision.kind == LINK_DECISION_GONE)
		require(decision.url[0] == '\0' && decision.rule[0] != '\0');
	else
		require(is_answer(extras, &decision));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Waymark__V1__LinkExtras *extras = link_extras_open(data, size);
	if (!extras)
		return 0;
	static uint8_t once[LINK_EXTRAS_BYTES_MAX], twice[LINK_EXTRAS_BYTES_MAX];
	size_t once_len, twice_len;
	require(link_extras_check(extras, NULL) == OK);
	/* Numbers may be written longer than they need be, never shorter. */
	require(link_extras_pack(extras, once, &once_len) == OK);
	Waymark__V1__LinkExtras *again = once_len > 0 ? link_extras_open(once, once_len) : NULL;
	require(again || once_len == 0);
	if (again) {
		require(link_extras_pack(again, twice, &twice_len) == OK);
		require(once_len == twice_len && memcmp(once, twice, once_len) == 0);
	}
	require(link_decision_facts(extras) <= 7 && link_extras_features(extras) <= 63);
	try_visitor(extras, data, size);
	link_extras_free(again);
	link_extras_free(extras);
	return 0;
}
