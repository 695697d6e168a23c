#include "services/links-api/statistics/visit_filter.h"

#include <string.h>

enum err visit_filter_add(struct visit_filter *filter, enum visit_dimension dimension, bool is_not,
                          const char *value)
{
	size_t len = strlen(value);
	if (filter->count == VISIT_FILTER_TERMS_MAX)
		return ERR_LIMIT;
	if (len >= VISIT_FILTER_VALUE_SIZE)
		return ERR_INVALID;
	struct visit_filter_term *term = &filter->terms[filter->count++];
	term->dimension = dimension;
	term->is_not = is_not;
	memcpy(term->value, value, len + 1);
	return OK;
}
