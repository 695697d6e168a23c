/*
 * One thread at a time. Reads the kind of YAML that uap-core uses for rules and tests: a mapping of
 * names to lists of flat records.
 *
 *   device_parsers:
 *     - regex: '(iPad)' device_replacement: '$1'
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_YAML_RECORDS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_YAML_RECORDS_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define YAML_RECORDS_FIELDS_MAX 16

/* The texts are borrowed until the callback returns. */
struct yaml_record {
	/* "device_parsers". */
	const char *list;
	size_t line;
	size_t count;
	struct {
		char *name;
		/* "" for an empty one. */
		char *value;
	} fields[YAML_RECORDS_FIELDS_MAX];
};

/* The value of name, or NULL when the record has no such field. */
const char *yaml_records_value(const struct yaml_record *record, const char *name);

/* Any result except OK stops reading. */
typedef enum err (*yaml_records_visit)(void *ctx, const struct yaml_record *record);

/*
 * Calls visit for each record in the order of the file. ERR_NOT_FOUND: the file cannot be opened.
 * ERR_INVALID: it has another structure. Any other result comes from visit. problem names the line
 * and the reason.
 */
enum err yaml_records_read(const char *path, yaml_records_visit visit, void *ctx,
                           struct strbuf *problem) MUST_CHECK;

#endif
