#include "lib/base/metrics.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_CALLBACK_COUNTER, KIND_CALLBACK_GAUGE, KIND_HISTOGRAM };

struct metric {
	enum kind kind;
	const char *name;
	const char *help;
	/* "" if there are none. */
	const char *labels;
	struct metric *next;
	_Atomic int64_t value;
	double (*callback)(void *ctx);
	void *ctx;
	const double *bounds;
	size_t bound_count;
	/* Per bucket, not cumulative; the last one is +Inf. */
	_Atomic uint64_t *bucket_counts;
	_Atomic double sum;
};

struct refresher {
	void (*refresh)(void *ctx);
	void *ctx;
	struct refresher *next;
};

struct metrics {
	struct metric *first;
	struct metric **end;
	struct refresher *refreshers;
	pthread_mutex_t rendering;
};

const double metrics_latency_bounds[] = { 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
	                                  0.1,    0.25,  0.5,    1,     2.5,  5,     10 };
const size_t metrics_latency_bound_count = ARRAY_SIZE(metrics_latency_bounds);

struct metrics *metrics_new(void)
{
	struct metrics *m = mem_zero(sizeof(*m));
	m->end = &m->first;
	pthread_mutex_init(&m->rendering, NULL);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	struct metric *metric = m->first;
	while (metric) {
		struct metric *next = metric->next;
		free(metric->bucket_counts);
		free(metric);
		metric = next;
	}
	while (m->refreshers) {
		struct refresher *next = m->refreshers->next;
		free(m->refreshers);
		m->refreshers = next;
	}
	pthread_mutex_destroy(&m->rendering);
	free(m);
}

static struct metric *find(const struct metrics *m, enum kind kind, const char *name,
                           const char *labels)
{
	for (struct metric *metric = m->first; metric; metric = metric->next) {
		if (metric->kind == kind && strcmp(metric->name, name) == 0 &&
		    strcmp(metric->labels, labels ? labels : "") == 0)
			return metric;
	}
	return NULL;
}

static struct metric *append(struct metrics *m, enum kind kind, const char *name, const char *help,
                             const char *labels)
{
	struct metric *metric = mem_zero(sizeof(*metric));
	metric->kind = kind;
	metric->name = name;
	metric->help = help;
	metric->labels = labels ? labels : "";
	*m->end = metric;
	m->end = &metric->next;
	return metric;
}

static struct metric *find_or_append(struct metrics *m, enum kind kind, const char *name,
                                     const char *help, const char *labels)
{
	struct metric *metric = find(m, kind, name, labels);
	return metric ? metric : append(m, kind, name, help, labels);
}

struct metric *metrics_counter(struct metrics *m, const char *name, const char *help,
                               const char *labels)
{
	return find_or_append(m, KIND_COUNTER, name, help, labels);
}

struct metric *metrics_gauge(struct metrics *m, const char *name, const char *help,
                             const char *labels)
{
	return find_or_append(m, KIND_GAUGE, name, help, labels);
}

struct metric *metrics_histogram(struct metrics *m, const char *name, const char *help,
                                 const char *labels, const double *bounds, size_t count)
{
	struct metric *metric = find(m, KIND_HISTOGRAM, name, labels);
	if (metric)
		return metric;
	metric = append(m, KIND_HISTOGRAM, name, help, labels);
	metric->bounds = bounds;
	metric->bound_count = count;
	metric->bucket_counts = mem_array(count + 1, sizeof(*metric->bucket_counts));
	return metric;
}

void metrics_gauge_callback(struct metrics *m, const char *name, const char *help,
                            const char *labels, double (*value)(void *ctx), void *ctx)
{
	struct metric *metric = append(m, KIND_CALLBACK_GAUGE, name, help, labels);
	metric->callback = value;
	metric->ctx = ctx;
}

void metrics_counter_callback(struct metrics *m, const char *name, const char *help,
                              const char *labels, double (*value)(void *ctx), void *ctx)
{
	struct metric *metric = append(m, KIND_CALLBACK_COUNTER, name, help, labels);
	metric->callback = value;
	metric->ctx = ctx;
}

void metrics_add(struct metric *metric, int64_t n)
{
	if (metric)
		atomic_fetch_add_explicit(&metric->value, n, memory_order_relaxed);
}

int64_t metrics_value(const struct metric *metric)
{
	return metric ? atomic_load_explicit(&metric->value, memory_order_relaxed) : 0;
}

void metrics_set(struct metric *metric, int64_t value)
{
	if (metric)
		atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

void metrics_observe(struct metric *metric, double value)
{
	/* One NaN would turn the sum into NaN forever. */
	if (!metric || isnan(value))
		return;
	size_t bucket = 0;
	while (bucket < metric->bound_count && value > metric->bounds[bucket])
		bucket++;
	atomic_fetch_add_explicit(&metric->bucket_counts[bucket], 1, memory_order_relaxed);

	double sum = atomic_load_explicit(&metric->sum, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&metric->sum, &sum, sum + value,
	                                              memory_order_relaxed, memory_order_relaxed)) {
	}
}

static void add_number(struct strbuf *out, double number)
{
	char text[NUMBER_TEXT_SIZE];
	if (isnan(number))
		strbuf_add_text(out, "NaN");
	else if (isinf(number))
		strbuf_add_text(out, number > 0 ? "+Inf" : "-Inf");
	else {
		number_format(number, text);
		strbuf_add_text(out, text);
	}
}

static void render_head(const struct metric *metric, struct strbuf *out)
{
	static const char *const types[] = { "counter", "gauge", "counter", "gauge", "histogram" };
	strbuf_add_format(out, "# HELP %s ", metric->name);
	for (const char *c = metric->help; *c;) {
		size_t plain = strcspn(c, "\n\\");
		strbuf_add(out, c, plain);
		c += plain;
		if (*c)
			strbuf_add_text(out, *c++ == '\n' ? "\\n" : "\\\\");
	}
	strbuf_add_format(out, "\n# TYPE %s %s\n", metric->name, types[metric->kind]);
}

/* Writes name_suffix{labels,le="bound"} and a space; parts that are missing are omitted. */
static void render_series(const struct metric *metric, const char *suffix, const double *bound,
                          struct strbuf *out)
{
	strbuf_add_text(out, metric->name);
	strbuf_add_text(out, suffix);
	if (*metric->labels || bound) {
		strbuf_add_format(out, "{%s", metric->labels);
		if (bound) {
			strbuf_add_format(out, "%sle=\"", *metric->labels ? "," : "");
			add_number(out, *bound);
			strbuf_add_char(out, '"');
		}
		strbuf_add_char(out, '}');
	}
	strbuf_add_char(out, ' ');
}

static void render_histogram(struct metric *metric, struct strbuf *out)
{
	uint64_t count = 0;
	for (size_t i = 0; i <= metric->bound_count; i++) {
		double bound = i < metric->bound_count ? metric->bounds[i] : HUGE_VAL;
		count += atomic_load_explicit(&metric->bucket_counts[i], memory_order_relaxed);
		render_series(metric, "_bucket", &bound, out);
		strbuf_add_format(out, "%llu\n", (unsigned long long)count);
	}
	render_series(metric, "_sum", NULL, out);
	add_number(out, atomic_load_explicit(&metric->sum, memory_order_relaxed));
	strbuf_add_char(out, '\n');
	render_series(metric, "_count", NULL, out);
	strbuf_add_format(out, "%llu\n", (unsigned long long)count);
}

static void render_value(struct metric *metric, struct strbuf *out)
{
	render_series(metric, "", NULL, out);
	if (metric->callback)
		add_number(out, metric->callback(metric->ctx));
	else
		strbuf_add_format(out, "%lld", (long long)metrics_value(metric));
	strbuf_add_char(out, '\n');
}

void metrics_before_render(struct metrics *m, void (*refresh)(void *ctx), void *ctx)
{
	struct refresher *refresher = mem_zero(sizeof(*refresher));
	*refresher = (struct refresher){ refresh, ctx, m->refreshers };
	m->refreshers = refresher;
}

void metrics_render(struct metrics *m, struct strbuf *out)
{
	pthread_mutex_lock(&m->rendering);
	for (struct refresher *refresher = m->refreshers; refresher; refresher = refresher->next)
		refresher->refresh(refresher->ctx);
	const char *name = "";
	for (struct metric *metric = m->first; metric; metric = metric->next) {
		if (strcmp(metric->name, name) != 0)
			render_head(metric, out);
		name = metric->name;
		if (metric->kind == KIND_HISTOGRAM)
			render_histogram(metric, out);
		else
			render_value(metric, out);
	}
	pthread_mutex_unlock(&m->rendering);
}

/* --- the process --- */

/* Fields of /proc/self/stat, counted from the first one after the program name; see proc(5). */
enum { STAT_START_TICKS = 19, STAT_RESIDENT_PAGES = 21 };

#define STAT_SIZE 1024

static double stat_number(unsigned index)
{
	char text[STAT_SIZE];
	FILE *file = fopen("/proc/self/stat", "re");
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[len] = '\0';
	/* The program name may contain spaces and parentheses. */
	const char *at = strrchr(text, ')');
	at = at ? at + 1 : NULL;
	for (unsigned i = 0; at && i < index; i++)
		at = strchr(at + 1, ' ');
	return at ? strtod(at, NULL) : (double)NAN;
}

static double cpu_seconds(void *ctx)
{
	(void)ctx;
	struct timespec used;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
		return (double)NAN;
	return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

static double resident_bytes(void *ctx)
{
	(void)ctx;
	return stat_number(STAT_RESIDENT_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

/* The kernel reports it in ticks since boot. */
static double start_seconds(void *ctx)
{
	(void)ctx;
	struct timespec since_boot;
	if (clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0)
		return (double)NAN;
	double up = (double)since_boot.tv_sec + (double)since_boot.tv_nsec / 1e9;
	double now = (double)clock_now_us(clock_system()) / (double)CLOCK_US_PER_S;
	return floor(now - up + stat_number(STAT_START_TICKS) / (double)sysconf(_SC_CLK_TCK));
}

static double open_files(void *ctx)
{
	(void)ctx;
	DIR *directory = opendir("/proc/self/fd");
	if (!directory)
		return (double)NAN;
	double count = -1; /* the descriptor of the directory itself */
	for (const struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

static double files_max(void *ctx)
{
	(void)ctx;
	struct rlimit files;
	return getrlimit(RLIMIT_NOFILE, &files) == 0 ? (double)files.rlim_cur : (double)NAN;
}

void metrics_register_process(struct metrics *m)
{
	metrics_set(metrics_gauge(m, "waymark_build_info",
	                          "Always 1; the label has the running version.",
	                          "version=\"" WAYMARK_VERSION "\""),
	            1);
	metrics_counter_callback(m, "process_cpu_seconds_total", "CPU time used in seconds.", NULL,
	                         cpu_seconds, NULL);
	metrics_gauge_callback(m, "process_resident_memory_bytes", "Resident memory in bytes.",
	                       NULL, resident_bytes, NULL);
	metrics_gauge_callback(m, "process_start_time_seconds",
	                       "Start time of the process in seconds since 1970.", NULL,
	                       start_seconds, NULL);
	metrics_gauge_callback(m, "process_open_fds", "Open file descriptors.", NULL, open_files,
	                       NULL);
	metrics_gauge_callback(m, "process_max_fds", "Maximum number of open file descriptors.",
	                       NULL, files_max, NULL);
}
