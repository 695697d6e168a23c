#include "lib/base/log_limited.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

#define LINES_MAX 64
#define FIELDS_MAX 8
#define INTERVAL_US (60 * CLOCK_US_PER_S)
#define FNV_OFFSET UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

struct line {
	/* 0: unused. */
	uint64_t hash;
	uint64_t event;
	int64_t written_us;
	int64_t repeated;
};

struct log_limited {
	pthread_mutex_t lock;
	struct line lines[LINES_MAX];
};

struct log_limited *log_limited_new(void)
{
	struct log_limited *limited = mem_zero(sizeof(*limited));
	pthread_mutex_init(&limited->lock, NULL);
	return limited;
}

void log_limited_free(struct log_limited *limited)
{
	if (!limited)
		return;
	pthread_mutex_destroy(&limited->lock);
	free(limited);
}

static uint64_t add_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * FNV_PRIME;
	return hash;
}

static uint64_t hash_event(const char *event)
{
	return add_bytes(FNV_OFFSET, event, strlen(event) + 1);
}

static uint64_t hash_line(const char *event, const struct log_field *fields, size_t count)
{
	uint64_t hash = hash_event(event);
	for (size_t i = 0; i < count; i++) {
		if (!fields[i].name)
			continue;
		const char *text = fields[i].text ? fields[i].text : "";
		hash = add_bytes(hash, fields[i].name, strlen(fields[i].name) + 1);
		hash = add_bytes(hash, text, strlen(text) + 1);
		hash = add_bytes(hash, &fields[i].integer, sizeof(fields[i].integer));
		hash = add_bytes(hash, &fields[i].number, sizeof(fields[i].number));
	}
	return hash ? hash : 1;
}

/* The line, or the one to replace: an unused one, or the one written longest ago. */
static struct line *find(struct log_limited *limited, uint64_t hash)
{
	struct line *oldest = &limited->lines[0];
	for (size_t i = 0; i < LINES_MAX; i++) {
		struct line *line = &limited->lines[i];
		if (line->hash == hash)
			return line;
		if (oldest->hash && (!line->hash || line->written_us < oldest->written_us))
			oldest = line;
	}
	return oldest;
}

bool log_limited_admit(struct log_limited *limited, int64_t now_us, const char *event,
                       const struct log_field *fields, size_t count, int64_t *repeated)
{
	uint64_t hash = hash_line(event, fields, count);
	pthread_mutex_lock(&limited->lock);
	struct line *line = find(limited, hash);
	bool is_known = line->hash == hash;
	bool is_due = !is_known || now_us - line->written_us >= INTERVAL_US;
	if (is_due) {
		*repeated = is_known ? line->repeated : 0;
		*line = (struct line){ .hash = hash,
			               .event = hash_event(event),
			               .written_us = now_us };
	} else {
		line->repeated++;
	}
	pthread_mutex_unlock(&limited->lock);
	return is_due;
}

void log_limited_forget(const struct log *log, const char *event)
{
	if (!log)
		return;
	struct log_limited *limited = log_limited_of(log);
	uint64_t hash = hash_event(event);
	pthread_mutex_lock(&limited->lock);
	for (size_t i = 0; i < LINES_MAX; i++)
		if (limited->lines[i].event == hash)
			limited->lines[i] = (struct line){ 0 };
	pthread_mutex_unlock(&limited->lock);
}

void log_limited_write(const struct log *log, enum log_level level, const char *event,
                       const struct log_field *fields, size_t count)
{
	struct log_field all[FIELDS_MAX + 1];
	int64_t repeated = 0;
	size_t kept = count < FIELDS_MAX ? count : FIELDS_MAX;
	if (!log || !log_limited_admit(log_limited_of(log), clock_steady_us(clock_system()), event,
	                               fields, kept, &repeated))
		return;
	memcpy(all, fields, kept * sizeof(*fields));
	all[kept] = LOG_INT(repeated > 0 ? "repeated" : NULL, repeated);
	log_write(log, level, event, all, kept + 1);
}
