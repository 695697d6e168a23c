#include "lib/clicks/visit_dimension.h"

#include <string.h>

#define NAME(NUMBER, name) [VISIT_DIMENSION_##NUMBER] = #name,
static const char *const names[VISIT_DIMENSION_END] = { [VISIT_DIMENSION_QUARTERS] = "quarters",
	                                                VISIT_DIMENSION_ROLLED_UP(NAME)
	                                                        VISIT_DIMENSION_OF_LOG(NAME) };

const char *visit_dimension_name(enum visit_dimension dimension)
{
	return names[dimension];
}

bool visit_dimension_is_rolled_up(enum visit_dimension dimension)
{
	return dimension < VISIT_DIMENSION_LISTS;
}

enum err visit_dimension_parse(const char *name, enum visit_dimension *out)
{
	for (enum visit_dimension d = VISIT_DIMENSION_FIRST; d < VISIT_DIMENSION_END; d++) {
		if (strcmp(name, names[d]) == 0) {
			*out = d;
			return OK;
		}
	}
	return ERR_NOT_FOUND;
}
