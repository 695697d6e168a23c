#include "services/analytics-consumer/facts/yaml_records.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "lib/base/mem.h"

/* The parser's state. Each state allows different events. */
enum state { OUTSIDE, IN_DOCUMENT, IN_LIST, IN_RECORD };

struct reader {
	yaml_parser_t parser;
	enum state state;
	char *list;
	/* Of the field whose value comes next, or NULL. */
	char *name;
	struct yaml_record record;
	yaml_records_visit visit;
	void *ctx;
};

const char *yaml_records_value(const struct yaml_record *record, const char *name)
{
	for (size_t i = 0; i < record->count; i++) {
		if (strcmp(record->fields[i].name, name) == 0)
			return record->fields[i].value;
	}
	return NULL;
}

static void clear_record(struct yaml_record *record)
{
	for (size_t i = 0; i < record->count; i++) {
		free(record->fields[i].name);
		free(record->fields[i].value);
	}
	*record = (struct yaml_record){ 0 };
}

static char *text_of(const yaml_event_t *event)
{
	return mem_text_n((const char *)event->data.scalar.value, event->data.scalar.length);
}

static enum err read_scalar(struct reader *r, const yaml_event_t *event)
{
	if (r->state == IN_DOCUMENT && !r->list) {
		r->list = text_of(event);
	} else if (r->state == IN_RECORD && !r->name) {
		r->name = text_of(event);
	} else if (r->state == IN_RECORD && r->record.count < YAML_RECORDS_FIELDS_MAX) {
		r->record.fields[r->record.count].name = r->name;
		r->record.fields[r->record.count++].value = text_of(event);
		r->name = NULL;
	} else {
		return ERR_INVALID;
	}
	return OK;
}

static enum err begin_mapping(struct reader *r, const yaml_event_t *event)
{
	if (r->state == OUTSIDE) {
		r->state = IN_DOCUMENT;
	} else if (r->state == IN_LIST) {
		r->state = IN_RECORD;
		r->record.list = r->list;
		r->record.line = event->start_mark.line + 1;
	} else {
		return ERR_INVALID;
	}
	return OK;
}

static enum err end_mapping(struct reader *r)
{
	if (r->state == IN_DOCUMENT) {
		r->state = OUTSIDE;
		return OK;
	}
	r->state = IN_LIST;
	enum err err = r->visit(r->ctx, &r->record);
	clear_record(&r->record);
	return err;
}

static enum err read_event(struct reader *r, const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(r, event);
	case YAML_MAPPING_START_EVENT:
		return begin_mapping(r, event);
	case YAML_MAPPING_END_EVENT:
		return end_mapping(r);
	case YAML_SEQUENCE_START_EVENT:
		if (r->state != IN_DOCUMENT || !r->list)
			return ERR_INVALID;
		r->state = IN_LIST;
		return OK;
	case YAML_SEQUENCE_END_EVENT:
		r->state = IN_DOCUMENT;
		free(r->list);
		r->list = NULL;
		return OK;
	case YAML_ALIAS_EVENT:
		return ERR_INVALID;
	default:
		return OK;
	}
}

static enum err read_all(struct reader *r, struct strbuf *problem)
{
	bool ended = false;
	while (!ended) {
		yaml_event_t event;
		if (!yaml_parser_parse(&r->parser, &event)) {
			strbuf_add_format(problem, "line %zu: %s", r->parser.problem_mark.line + 1,
			                  r->parser.problem);
			return ERR_INVALID;
		}
		ended = event.type == YAML_STREAM_END_EVENT;
		enum err err = read_event(r, &event);
		if (err != OK && problem->len == 0)
			strbuf_add_format(problem,
			                  "line %zu: not a mapping of lists of flat records",
			                  event.start_mark.line + 1);
		yaml_event_delete(&event);
		if (err != OK)
			return err;
	}
	return OK;
}

enum err yaml_records_read(const char *path, yaml_records_visit visit, void *ctx,
                           struct strbuf *problem)
{
	FILE *file = fopen(path, "rb");
	if (!file) {
		strbuf_add_text(problem, strerrordesc_np(errno));
		return ERR_NOT_FOUND;
	}
	struct reader r = { .visit = visit, .ctx = ctx };
	enum err err = ERR_INTERNAL;
	if (yaml_parser_initialize(&r.parser)) {
		yaml_parser_set_input_file(&r.parser, file);
		err = read_all(&r, problem);
		yaml_parser_delete(&r.parser);
	}
	clear_record(&r.record);
	free(r.name);
	free(r.list);
	fclose(file);
	return err;
}
