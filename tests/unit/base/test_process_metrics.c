#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/metrics.h"
#include "tests/support/test.h"

static double read_metric(const char *name)
{
	struct metrics *m = metrics_new();
	struct strbuf out;
	char line[128];
	strbuf_init(&out, 64 * 1024);
	metrics_register_process(m);
	metrics_render(m, &out);
	snprintf(line, sizeof(line), "\n%s ", name);
	const char *at = strstr(out.data, line);
	assert_non_null(at);
	double value = strtod(at + strlen(line), NULL);
	strbuf_clear(&out);
	metrics_free(m);
	return value;
}

TEST_CASE(shows_the_version)
{
	assert_true(read_metric("waymark_build_info{version=\"" WAYMARK_VERSION "\"}") == 1);
}

TEST_CASE(counts_open_files)
{
	double before = read_metric("process_open_fds");
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(read_metric("process_open_fds") == before + 1);
	close(fd);
	assert_true(read_metric("process_open_fds") == before);
	assert_true(read_metric("process_max_fds") >= before);
}

TEST_CASE(start_time_is_recent)
{
	double age_s = (double)time(NULL) - read_metric("process_start_time_seconds");
	assert_true(age_s >= -1);
	assert_true(age_s < 120);
}

TEST_CASE(shows_used_memory_and_cpu_time)
{
	enum { BYTES = 64 << 20 };
	double before = read_metric("process_resident_memory_bytes");
	double cpu_s = read_metric("process_cpu_seconds_total");
	volatile unsigned char *bytes = malloc(BYTES);
	assert_non_null(bytes);
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (unsigned char)i;
	double after = read_metric("process_resident_memory_bytes");
	assert_true(after > before + BYTES / 2.0);
	assert_true(after < before + 8.0 * BYTES);
	assert_true(read_metric("process_cpu_seconds_total") > cpu_s);
	free((void *)bytes);
}

TEST_MAIN()
