/*
 * Structured logs: one JSON object per line, each written by one write(2).
 *
 *   {"time":"2026-11-20T08:00:00.123456Z","level":"info","service":"redirector","event":"started","port":8080}
 *
 * event is a fixed name in snake_case that operators can search for. Everything that varies goes
 * into fields. Control bytes and invalid UTF-8 in values are replaced. A line has at most
 * LOG_LINE_MAX bytes; values that were cut end in "…". Never log an address, a token, a password or
 * a URL with a user's query.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_LOG_H
#define WAYMARK_LIB_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX 4096

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

struct log; /* opaque; borrowed by every module that logs */

enum log_field_type { LOG_FIELD_TEXT, LOG_FIELD_INT, LOG_FIELD_DOUBLE, LOG_FIELD_BOOL };

struct log_field {
	/* NULL: the field is omitted. */
	const char *name;
	enum log_field_type type;
	/* NULL is logged as "". */
	const char *text;
	int64_t integer;
	double number;
};

/* service is borrowed for the lifetime of the log. fd is usually 2. */
struct log *log_new(const char *service, enum log_level min_level, int fd);
void log_free(struct log *log);

/* Writes nothing if log is NULL. */
void log_write(const struct log *log, enum log_level level, const char *event,
               const struct log_field *fields, size_t count);

bool log_level_parse(const char *text, enum log_level *level);

#define LOG_TEXT(n, v) ((struct log_field){ .name = (n), .type = LOG_FIELD_TEXT, .text = (v) })
/* Omitted if v is "". */
#define LOG_TEXT_IF(n, v) LOG_TEXT((v)[0] != '\0' ? (n) : NULL, (v))
#define LOG_INT(n, v)                                                                              \
	((struct log_field){ .name = (n), .type = LOG_FIELD_INT, .integer = (int64_t)(v) })
/* Omitted if v is 0. */
#define LOG_INT_IF(n, v) LOG_INT((v) != 0 ? (n) : NULL, (v))
#define LOG_DOUBLE(n, v)                                                                           \
	((struct log_field){ .name = (n), .type = LOG_FIELD_DOUBLE, .number = (v) })
#define LOG_BOOL(n, v)                                                                             \
	((struct log_field){ .name = (n), .type = LOG_FIELD_BOOL, .integer = (v) ? 1 : 0 })

#define LOG_BY(write, log, level, event, ...)                                                      \
	write((log), (level), (event),                                                             \
	      (const struct log_field[]){ LOG_INT(NULL, 0), ##__VA_ARGS__ } + 1,                   \
	      sizeof((const struct log_field[]){ LOG_INT(NULL, 0), ##__VA_ARGS__ }) /              \
	                      sizeof(struct log_field) -                                           \
	              1)
#define LOG_AT(log, level, event, ...) LOG_BY(log_write, log, level, event, ##__VA_ARGS__)

#define log_debug(log, event, ...) LOG_AT(log, LOG_DEBUG, event, ##__VA_ARGS__)
#define log_info(log, event, ...) LOG_AT(log, LOG_INFO, event, ##__VA_ARGS__)
#define log_warning(log, event, ...) LOG_AT(log, LOG_WARNING, event, ##__VA_ARGS__)
#define log_error(log, event, ...) LOG_AT(log, LOG_ERROR, event, ##__VA_ARGS__)

/* --- lines that may repeat many times a second, as while a server is away --- */

/*
 * A line with the same event and fields as one of the last minute is counted and not written. The
 * first one after that minute is written with the field repeated, the number of lines that it
 * stands for.
 *
 *   log_limited_warning(log, "redis_cannot_connect", LOG_TEXT("message", why));
 */
#define LOG_LIMITED_AT(log, level, event, ...)                                                     \
	LOG_BY(log_limited_write, log, level, event, ##__VA_ARGS__)
#define log_limited_warning(log, event, ...) LOG_LIMITED_AT(log, LOG_WARNING, event, ##__VA_ARGS__)
#define log_limited_error(log, event, ...) LOG_LIMITED_AT(log, LOG_ERROR, event, ##__VA_ARGS__)

/* Writes nothing if log is NULL. Only the first 8 fields count. */
void log_limited_write(const struct log *log, enum log_level level, const char *event,
                       const struct log_field *fields, size_t count);

/*
 * Whether the line may be written at now_us (steady). Sets *repeated to the number of lines that
 * were counted instead since the last one that was written.
 */
bool log_limited_admit(const struct log *log, int64_t now_us, const char *event,
                       const struct log_field *fields, size_t count, int64_t *repeated);

/* What lines of this event said is over: the next one is written, also within a minute. */
void log_limited_forget(const struct log *log, const char *event);

#endif
