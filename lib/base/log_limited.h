/*
 * Log lines that may repeat many times a second, as while a server is away. A line with the same
 * level, event and fields as one of the last minute is counted and not written. The first one after
 * that minute is written with the field repeated, the number of lines that it stands for.
 *
 *   log_limited_warning(log, "redis_cannot_connect", LOG_TEXT("message", why));
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_LOG_LIMITED_H
#define WAYMARK_LIB_BASE_LOG_LIMITED_H

#include "lib/base/log.h"

/* The lines of one log; part of struct log. */
struct log_limited;

struct log_limited *log_limited_new(void);
void log_limited_free(struct log_limited *limited);
/* In log.c. */
struct log_limited *log_limited_of(const struct log *log);

/*
 * Whether the line may be written at now_us (steady). Sets *repeated to the number of lines that
 * were counted instead since the last one that was written.
 */
bool log_limited_admit(struct log_limited *limited, int64_t now_us, const char *event,
                       const struct log_field *fields, size_t count, int64_t *repeated);

/* What lines of this event said is over: the next one is written, also within a minute. */
void log_limited_forget(const struct log *log, const char *event);

/* Writes nothing if log is NULL. Only the first 8 fields count. */
void log_limited_write(const struct log *log, enum log_level level, const char *event,
                       const struct log_field *fields, size_t count);

#define LOG_LIMITED_AT(log, level, event, ...)                                                     \
	log_limited_write((log), (level), (event),                                                 \
	                  (const struct log_field[]){ LOG_INT(NULL, 0), ##__VA_ARGS__ } + 1,       \
	                  sizeof((const struct log_field[]){ LOG_INT(NULL, 0), ##__VA_ARGS__ }) /  \
	                                  sizeof(struct log_field) -                               \
	                          1)
#define log_limited_warning(log, event, ...) LOG_LIMITED_AT(log, LOG_WARNING, event, ##__VA_ARGS__)

#endif
