#include "services/links-api/links/utm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/base/url.h"
#include "services/links-api/destinations/destination_check.h"
#include "services/links-api/http/member.h"

static const char *const names[UTM_COUNT] = { "utm_source", "utm_medium", "utm_campaign",
	                                      "utm_term", "utm_content" };

const char *utm_name(size_t index)
{
	return names[index];
}

void utm_read(struct utm **utm, size_t index, const struct json *value, const char *pointer,
              struct http_problem_fields *wrong)
{
	if (!*utm)
		*utm = mem_zero(sizeof(**utm));
	(*utm)->is_given[index] = true;
	if (json_type(value) == JSON_NULL)
		return;
	const char *text = member_text(value, pointer, wrong);
	if (text && member_is_line(text, 1, UTM_CHARS_MAX, pointer, wrong))
		snprintf((*utm)->value[index], UTM_SIZE, "%s", text);
}

/* --- the query of a destination --- */

struct part {
	const char *text;
	size_t len;
};

struct parameter {
	/* "name=value", or only a name. */
	struct part whole, name, value;
};

/* Cuts the next parameter off. False: there is none. */
static bool take_parameter(struct part *query, struct parameter *out)
{
	if (query->len == 0)
		return false;
	const char *end = memchr(query->text, '&', query->len);
	size_t len = end ? (size_t)(end - query->text) : query->len;
	const char *equals = memchr(query->text, '=', len);
	size_t name_len = equals ? (size_t)(equals - query->text) : len;
	out->whole = (struct part){ query->text, len };
	out->name = (struct part){ query->text, name_len };
	out->value =
		equals ? (struct part){ equals + 1, len - name_len - 1 } : (struct part){ "", 0 };
	len += end != NULL;
	query->text += len;
	query->len -= len;
	return true;
}

/* The next byte as forms decode it; what is no escape stands for itself. */
static int decode(struct part part, size_t *at)
{
	size_t before = *at;
	int c = url_decode_next(part.text, part.len, at);
	if (c >= 0)
		return c == '+' && *at == before + 1 ? ' ' : c;
	*at = before + 1;
	return (unsigned char)part.text[before];
}

static size_t find_name(struct part name)
{
	for (size_t i = 0; i < UTM_COUNT; i++) {
		size_t at = 0, matched = 0;
		while (at < name.len && names[i][matched] &&
		       decode(name, &at) == (unsigned char)names[i][matched])
			matched++;
		if (name.len > 0 && at == name.len && names[i][matched] == '\0')
			return i;
	}
	return UTM_COUNT;
}

static struct part find_query(const char *url)
{
	size_t end = strcspn(url, "#");
	const char *query = memchr(url, '?', end);
	return query && !destination_check_is_app(url)
	               ? (struct part){ query + 1, end - (size_t)(query + 1 - url) }
	               : (struct part){ "", 0 };
}

static void add_given(const struct utm *utm, size_t i, struct strbuf *out, size_t begin)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	if (utm->value[i][0] == '\0')
		return;
	strbuf_add_format(out, "%c%s=", out->len == begin ? '?' : '&', names[i]);
	for (const char *c = utm->value[i]; *c; c++)
		strbuf_add_format(out, strchr(plain, *c) ? "%c" : "%%%02X", (unsigned char)*c);
}

enum err utm_apply(const struct utm *utm, const char *url, size_t bytes_max,
                   char out[static LINK_URL_SIZE])
{
	if (destination_check_is_app(url))
		return ERR_INVALID;
	struct part query = find_query(url);
	struct parameter parameter;
	bool is_written[UTM_COUNT] = { false };
	struct strbuf result;
	strbuf_init(&result, bytes_max);
	size_t begin = strcspn(url, "?#");
	strbuf_add(&result, url, begin);
	while (take_parameter(&query, &parameter)) {
		size_t i = find_name(parameter.name);
		if (i == UTM_COUNT || !utm->is_given[i]) {
			strbuf_add_char(&result, result.len == begin ? '?' : '&');
			strbuf_add(&result, parameter.whole.text, parameter.whole.len);
		} else if (!is_written[i]) {
			add_given(utm, i, &result, begin);
			is_written[i] = true;
		}
	}
	for (size_t i = 0; i < UTM_COUNT; i++)
		if (utm->is_given[i] && !is_written[i])
			add_given(utm, i, &result, begin);
	strbuf_add_text(&result, url + strcspn(url, "#"));
	enum err err = strbuf_status(&result);
	if (err == OK)
		memcpy(out, result.data, result.len + 1);
	strbuf_clear(&result);
	return err;
}

void utm_json_set(struct json *json, const char *url)
{
	struct part found[UTM_COUNT] = { { NULL, 0 } };
	struct part query = find_query(url);
	struct parameter parameter;
	while (take_parameter(&query, &parameter)) {
		size_t i = find_name(parameter.name);
		if (i < UTM_COUNT && !found[i].text && parameter.value.len > 0)
			found[i] = parameter.value;
	}
	for (size_t i = 0; i < UTM_COUNT; i++) {
		char text[LINK_URL_SIZE];
		size_t len = 0;
		for (size_t at = 0; at < found[i].len; len++) {
			int c = decode(found[i], &at);
			text[len] = (char)(c == 0 ? '?' : c);
		}
		text[len] = '\0';
		json_set_text(json, names[i], len > 0 ? text : NULL);
	}
}
