#include "services/links-api/qr/qr_params.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/http/http_query.h"
#include "services/links-api/http/member.h"

#define NAME_SIZE 64
#define VALUE_SIZE 24
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

/* A value that cannot be decoded is reported under its parameter's name. */
static void read_pair(enum err err, const char *name, const char *value, unsigned *seen,
                      struct qr_params *out, struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	enum parameter parameter = parameter_of(name);
	member_pointer(name, pointer);
	if (parameter == PARAMETERS)
		http_problem_add_field(wrong, pointer, "unknown", "unknown query parameter");
	else if (*seen & 1U << parameter)
		http_problem_add_field(wrong, pointer, "duplicate", "is given twice");
	else
		read_value(parameter, err == OK ? value : "", out, wrong);
	if (parameter != PARAMETERS)
		*seen |= 1U << parameter;
}

enum err qr_params_parse(const char *query, struct qr_params *out,
                         struct http_problem_fields *wrong)
{
	struct qr_params read = { .format = QR_FORMAT_ANY,
		                  .image = { SIZE_DEFAULT, MARGIN_DEFAULT } };
	unsigned seen = 0;
	for (;;) {
		char name[NAME_SIZE] = "";
		char value[VALUE_SIZE] = "";
		enum err err = http_query_next(&query, name, sizeof(name), value, sizeof(value));
		if (err == ERR_NOT_FOUND)
			break;
		read_pair(err, name, value, &seen, &read, wrong);
	}
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
