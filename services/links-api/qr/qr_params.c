#include "services/links-api/qr/qr_params.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/number.h"
#include "services/links-api/http/query_params.h"

#define SIZE_DEFAULT 256
#define MARGIN_DEFAULT 4

enum parameter { FORMAT, SIZE, MARGIN, PARAMETERS };
static const char *const names[PARAMETERS] = {
	[FORMAT] = "format", [SIZE] = "size", [MARGIN] = "margin"
};

static void read_format(const char *value, enum qr_format *out, struct http_problem_fields *wrong)
{
	if (strcmp(value, "svg") == 0)
		*out = QR_FORMAT_SVG;
	else if (strcmp(value, "png") == 0)
		*out = QR_FORMAT_PNG;
	else
		http_problem_add_field(wrong, "/format", "choice", "must be svg or png");
}

static void read_number(const char *value, const char *pointer, int64_t min, int64_t max,
                        size_t *out, struct http_problem_fields *wrong)
{
	int64_t number;
	if (number_parse(value, min, max, &number) == OK)
		*out = (size_t)number;
	else
		http_problem_add_field(wrong, pointer, "number",
		                       "must be a number from %" PRId64 " to %" PRId64, min, max);
}

static void read_value(enum parameter parameter, const char *value, struct qr_params *out,
                       struct http_problem_fields *wrong)
{
	switch (parameter) {
	case FORMAT:
		read_format(value, &out->format, wrong);
		break;
	case SIZE:
		read_number(value, "/size", QR_IMAGE_SIZE_MIN, QR_IMAGE_SIZE_MAX, &out->image.size,
		            wrong);
		break;
	case MARGIN:
		read_number(value, "/margin", 0, QR_IMAGE_MARGIN_MAX, &out->image.margin, wrong);
		break;
	case PARAMETERS:
		break;
	}
}

static enum parameter parameter_of(const char *name)
{
	int i = 0;
	while (i < PARAMETERS && strcmp(name, names[i]) != 0)
		i++;
	return (enum parameter)i;
}

enum err qr_params_parse(const char *query, struct qr_params *out,
                         struct http_problem_fields *wrong)
{
	struct qr_params read = { .format = QR_FORMAT_ANY,
		                  .image = { SIZE_DEFAULT, MARGIN_DEFAULT } };
	bool seen[PARAMETERS] = { false };
	struct query_pair pair;
	while (query_params_next(&query, &pair)) {
		enum parameter parameter = parameter_of(pair.name);
		if (parameter == PARAMETERS)
			query_params_refuse_unknown(&pair, wrong);
		else if (query_params_accept(&pair, &seen[parameter], wrong))
			read_value(parameter, pair.value, &read, wrong);
	}
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
