/*
 * Safe from any thread. Which slugs were found to be unknown within the last minute, by fingerprint: a slug that is
 * asked for again is worth a word in Redis, one of a flood of invented ones is not. It may err both ways, and no answer
 * depends on it.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_DENIAL_LOG_H
#define WAYMARK_SERVICES_REDIRECTOR_DENIAL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DENIAL_LOG_REMEMBERS_S 60

struct denial_log;

struct denial_log *denial_log_new(void);
void denial_log_free(struct denial_log *log);

/* Times are steady. */
void denial_log_note(struct denial_log *log, const char *slug, size_t slug_len, int64_t now_us);
bool denial_log_has(const struct denial_log *log, const char *slug, size_t slug_len, int64_t now_us);

#endif
