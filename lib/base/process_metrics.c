#include "lib/base/process_metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"

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

void process_metrics_register(struct metrics *m)
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
