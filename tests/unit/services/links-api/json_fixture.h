/*
 * One thread at a time. Helpers for tests that read or write JSON of links-api. Each failure ends
 * the test.
 */
#ifndef WAYMARK_TESTS_UNIT_SERVICES_LINKS_API_JSON_FIXTURE_H
#define WAYMARK_TESTS_UNIT_SERVICES_LINKS_API_JSON_FIXTURE_H

#include <stdbool.h>

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/destinations/public_base.h"

/* The base "https://wm.example". */
struct public_base json_fixture_base(void);

/* Free the result with json_free. */
struct json *json_fixture_parse(const char *text);

/* Frees json. */
void json_fixture_assert_text(struct json *json, const char *expected);

/* True if wrong contains a field with this JSON pointer. */
bool json_fixture_names(const struct http_problem_fields *wrong, const char *pointer);

#endif
