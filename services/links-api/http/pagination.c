#include "services/links-api/http/pagination.h"

static void set_number(struct json *json, const char *name, bool is_known, int64_t value)
{
	if (is_known)
		json_set_int(json, name, value);
	else
		json_set_null(json, name);
}

struct json *pagination_json(const struct pagination *pagination)
{
	bool has_page = pagination->page > 0, has_total = pagination->total != PAGINATION_UNCOUNTED;
	int64_t limit = pagination->limit;
	struct json *json = json_new_object();
	set_number(json, "page", has_page, pagination->page);
	json_set_int(json, "limit", limit);
	set_number(json, "total", has_total, pagination->total);
	json_set_bool(json, "total_is_capped", pagination->total_is_capped);
	set_number(json, "total_pages", has_page && has_total && !pagination->total_is_capped,
	           (pagination->total + limit - 1) / limit);
	json_set_text(json, "next_cursor", pagination->next_cursor);
	return json;
}
