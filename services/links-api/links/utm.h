/*
 * The parameters in a destination's query by which campaigns are told apart: utm_source, utm_medium,
 * utm_campaign, utm_term and utm_content. The query is all that stores them. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_UTM_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_UTM_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/links/link.h"

#define UTM_COUNT 5
#define UTM_CHARS_MAX 100
#define UTM_SIZE (UTM_CHARS_MAX * 4 + 1)

/* "utm_source" … */
const char *utm_name(size_t index);

/* What a request says about them. */
struct utm {
	bool is_given[UTM_COUNT];
	/* "" = it is to be removed. */
	char value[UTM_COUNT][UTM_SIZE];
};

/* Reads the member with that index of *utm, which is allocated if it is NULL; the caller frees it. */
void utm_read(struct utm **utm, size_t index, const struct json *value, const char *pointer,
              struct http_problem_fields *wrong);

/*
 * Writes a destination in normal form with these parameters; out may be url. What is replaced keeps
 * its place, what is new comes last. ERR_LIMIT: longer than bytes_max, which is at most LINK_URL_MAX.
 * ERR_INVALID: the destination is that of an app and has no query.
 */
enum err utm_apply(const struct utm *utm, const char *url, size_t bytes_max,
                   char out[static LINK_URL_SIZE]) MUST_CHECK;

/* Sets the five members of a link to what the query of its destination says; null = nothing. */
void utm_json_set(struct json *json, const char *url);

#endif
