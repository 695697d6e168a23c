#include "lib/base/log.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/base/utf8.h"

#define VALUE_MAX 1024
#define ELLIPSIS "\xe2\x80\xa6"
/* Space reserved for the end of a cut line: the ellipsis, a quote, the brace and the newline. */
#define TAIL_SIZE 6
#define REPEATABLE_MAX 64
#define REPEATABLE_FIELDS_MAX 8
#define REPEATABLE_INTERVAL_US (60 * CLOCK_US_PER_S)

/* A line of log_limited_write that was written within the last minute. */
struct repeatable {
	/* 0: unused. */
	uint64_t hash;
	uint64_t event;
	int64_t written_us;
	int64_t repeated;
};

struct log_limited {
	pthread_mutex_t lock;
	struct repeatable lines[REPEATABLE_MAX];
};

struct log {
	const char *service;
	enum log_level min_level;
	int fd;
	struct log_limited *limited;
};

struct line {
	char data[LOG_LINE_MAX];
	size_t len;
};

static const char *const level_names[] = { "debug", "info", "warning", "error" };

struct log *log_new(const char *service, enum log_level min_level, int fd)
{
	struct log *log = mem_zero(sizeof(*log));
	struct log_limited *limited = mem_zero(sizeof(*limited));
	pthread_mutex_init(&limited->lock, NULL);
	*log = (struct log){
		.service = service, .min_level = min_level, .fd = fd, .limited = limited
	};
	return log;
}

void log_free(struct log *log)
{
	if (!log)
		return;
	pthread_mutex_destroy(&log->limited->lock);
	free(log->limited);
	free(log);
}

static bool add(struct line *line, const char *bytes, size_t len)
{
	if (line->len + len > LOG_LINE_MAX - TAIL_SIZE)
		return false;
	memcpy(line->data + line->len, bytes, len);
	line->len += len;
	return true;
}

static void add_tail(struct line *line, const char *bytes)
{
	size_t len = strlen(bytes);
	memcpy(line->data + line->len, bytes, len);
	line->len += len;
}

/* Adds one character of a JSON string, escaped. Returns its bytes of text; 0: the line is full. */
static size_t add_character(struct line *line, const char *text, size_t len)
{
	size_t step = utf8_next(text, len);
	if (step == 0 || utf8_is_control(text))
		return add(line, "?", 1) ? (step > 0 ? step : 1) : 0;
	if (*text == '"' || *text == '\\') {
		const char escaped[] = { '\\', *text };
		return add(line, escaped, sizeof(escaped)) ? 1 : 0;
	}
	return add(line, text, step) ? step : 0;
}

static void add_string(struct line *line, const char *text)
{
	size_t len = strlen(text);
	size_t start = line->len;
	size_t at = 0;
	while (at < len) {
		size_t step = line->len - start < VALUE_MAX
		                      ? add_character(line, text + at, len - at)
		                      : 0;
		if (step == 0) {
			add_tail(line, ELLIPSIS);
			break;
		}
		at += step;
	}
	add_tail(line, "\"");
}

/* A field that does not fit is omitted, except that a text is cut. */
static void add_number(struct line *line, const struct log_field *field)
{
	char text[NUMBER_TEXT_SIZE] = "null";
	if (field->type == LOG_FIELD_INT)
		snprintf(text, sizeof(text), "%lld", (long long)field->integer);
	else if (field->type == LOG_FIELD_BOOL)
		snprintf(text, sizeof(text), "%s", field->integer ? "true" : "false");
	else if (isfinite(field->number))
		number_format(field->number, text);

	size_t start = line->len;
	if (!add(line, ",\"", 2) || !add(line, field->name, strlen(field->name)) ||
	    !add(line, "\":", 2) || !add(line, text, strlen(text)))
		line->len = start;
}

static void add_text(struct line *line, const char *name, const char *text)
{
	size_t start = line->len;
	if (add(line, ",\"", 2) && add(line, name, strlen(name)) && add(line, "\":\"", 3))
		add_string(line, text ? text : "");
	else
		line->len = start;
}

static void write_line(int fd, const struct line *line)
{
	size_t done = 0;
	while (done < line->len) {
		ssize_t wrote = write(fd, line->data + done, line->len - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return;
		done += (size_t)wrote;
	}
}

void log_write(const struct log *log, enum log_level level, const char *event,
               const struct log_field *fields, size_t count)
{
	if (!log || level < log->min_level)
		return;
	char time[TIMESTAMP_TEXT_SIZE];
	timestamp_format_us(clock_now_us(clock_system()), time);

	struct line line;
	line.len = 0;
	add_tail(&line, "{\"time\":\"");
	add_string(&line, time);
	add_text(&line, "level", level_names[level]);
	add_text(&line, "service", log->service);
	add_text(&line, "event", event);
	for (size_t i = 0; i < count; i++) {
		if (!fields[i].name)
			continue;
		if (fields[i].type == LOG_FIELD_TEXT)
			add_text(&line, fields[i].name, fields[i].text);
		else
			add_number(&line, &fields[i]);
	}
	add_tail(&line, "}\n");
	write_line(log->fd, &line);
}

/* --- lines that repeat --- */

static uint64_t hash_event(const char *event)
{
	return hash_table_hash(hash_table_seed(), event, strlen(event));
}

static uint64_t hash_line(const char *event, const struct log_field *fields, size_t count)
{
	uint64_t hash = hash_event(event);
	for (size_t i = 0; i < count; i++) {
		if (!fields[i].name)
			continue;
		const char *text = fields[i].text ? fields[i].text : "";
		hash = hash_table_hash(hash, fields[i].name, strlen(fields[i].name));
		hash = hash_table_hash(hash, text, strlen(text));
		hash = hash_table_hash(hash, &fields[i].integer, sizeof(fields[i].integer));
		hash = hash_table_hash(hash, &fields[i].number, sizeof(fields[i].number));
	}
	return hash ? hash : 1;
}

/* The line, or the one to replace: an unused one, or the one written longest ago. */
static struct repeatable *find_repeatable(struct log_limited *limited, uint64_t hash)
{
	struct repeatable *oldest = &limited->lines[0];
	for (size_t i = 0; i < REPEATABLE_MAX; i++) {
		struct repeatable *line = &limited->lines[i];
		if (line->hash == hash)
			return line;
		if (oldest->hash && (!line->hash || line->written_us < oldest->written_us))
			oldest = line;
	}
	return oldest;
}

bool log_limited_admit(const struct log *log, int64_t now_us, const char *event,
                       const struct log_field *fields, size_t count, int64_t *repeated)
{
	uint64_t hash = hash_line(event, fields, count);
	pthread_mutex_lock(&log->limited->lock);
	struct repeatable *line = find_repeatable(log->limited, hash);
	bool is_known = line->hash == hash;
	bool is_due = !is_known || now_us - line->written_us >= REPEATABLE_INTERVAL_US;
	if (is_due) {
		*repeated = is_known ? line->repeated : 0;
		*line = (struct repeatable){ .hash = hash,
			                     .event = hash_event(event),
			                     .written_us = now_us };
	} else {
		line->repeated++;
	}
	pthread_mutex_unlock(&log->limited->lock);
	return is_due;
}

void log_limited_forget(const struct log *log, const char *event)
{
	if (!log)
		return;
	uint64_t hash = hash_event(event);
	pthread_mutex_lock(&log->limited->lock);
	for (size_t i = 0; i < REPEATABLE_MAX; i++)
		if (log->limited->lines[i].event == hash)
			log->limited->lines[i] = (struct repeatable){ 0 };
	pthread_mutex_unlock(&log->limited->lock);
}

void log_limited_write(const struct log *log, enum log_level level, const char *event,
                       const struct log_field *fields, size_t count)
{
	struct log_field all[REPEATABLE_FIELDS_MAX + 1];
	int64_t repeated = 0;
	size_t kept = count < REPEATABLE_FIELDS_MAX ? count : REPEATABLE_FIELDS_MAX;
	if (!log || !log_limited_admit(log, clock_steady_us(clock_system()), event, fields, kept,
	                               &repeated))
		return;
	memcpy(all, fields, kept * sizeof(*fields));
	all[kept] = LOG_INT(repeated > 0 ? "repeated" : NULL, repeated);
	log_write(log, level, event, all, kept + 1);
}

bool log_level_parse(const char *text, enum log_level *level)
{
	for (size_t i = 0; i < ARRAY_SIZE(level_names); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}
