#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/process_metrics.h"

static double shown(const char *name)
{
	struct metrics *m = metrics_new();
	struct strbuf out;
	char line[128];
	strbuf_init(&out, 64 * 1024);
	process_metrics_register(m);
	metrics_render(m, &out);
	snprintf(line, sizeof(line), "\n%s ", name);
	const char *at = strstr(out.data, line);
	assert_non_null(at);
	double value = strtod(at + strlen(line), NULL);
	strbuf_clear(&out);
	metrics_free(m);
	return value;
}

static void names_the_build(void **state)
{
	(void)state;
	assert_true(shown("waymark_build_info{version=\"" WAYMARK_VERSION "\"}") == 1);
}

static void counts_open_files(void **state)
{
	(void)state;
	double before = shown("process_open_fds");
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(shown("process_open_fds") == before + 1);
	close(fd);
	assert_true(shown("process_open_fds") == before);
	assert_true(shown("process_max_fds") >= before);
}

static void began_a_moment_ago(void **state)
{
	(void)state;
	double age_s = (double)time(NULL) - shown("process_start_time_seconds");
	assert_true(age_s >= -1);
	assert_true(age_s < 120);
}

static void shows_memory_and_cpu_that_were_used(void **state)
{
	(void)state;
	enum { BYTES = 64 << 20 };
	double before = shown("process_resident_memory_bytes");
	double cpu_s = shown("process_cpu_seconds_total");
	volatile unsigned char *bytes = malloc(BYTES);
	assert_non_null(bytes);
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (unsigned char)i;
	double after = shown("process_resident_memory_bytes");
	assert_true(after > before + BYTES / 2.0);
	assert_true(after < before + 8.0 * BYTES);
	assert_true(shown("process_cpu_seconds_total") > cpu_s);
	free((void *)bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_the_build),
		cmocka_unit_test(counts_open_files),
		cmocka_unit_test(began_a_moment_ago),
		cmocka_unit_test(shows_memory_and_cpu_that_were_used),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
