#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <dirent.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "services/analytics-consumer/geoip.h"

struct fixture {
	char folder[32];
	char database[64];
	struct geoip *geoip;
};

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool run_builder(struct fixture *f)
{
	char program[] = "tools/geoip/build-database";
	char v4[64];
	char v6[64];
	char *const argv[] = { program, v4, v6, f->database, NULL };
	pid_t pid = 0;
	int status = -1;
	snprintf(v4, sizeof(v4), "%s/v4", f->folder);
	snprintf(v6, sizeof(v6), "%s/v6", f->folder);
	return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid &&
	       status == 0;
}

/* A database as tools/setup makes it, of a few ranges. */
static int set_up(void **state)
{
	static struct fixture f;
	snprintf(f.folder, sizeof(f.folder), "/tmp/geoip-XXXXXX");
	assert_non_null(mkdtemp(f.folder));
	snprintf(f.database, sizeof(f.database), "%s/country.mmdb", f.folder);
	/* 8.8.8.0/24 and 93.184.216.0/24 as numbers, the way tor-geoipdb writes IPv4. */
	write_file(f.folder, "v4", "134744064,134744319,US\n1572395008,1572395263,DE\n");
	write_file(f.folder, "v6", "2a00:1450::,2a00:1450:ffff:ffff:ffff:ffff:ffff:ffff,IE\n");
	*state = &f;
	return run_builder(&f) && geoip_open(f.database, NULL, &f.geoip) == OK ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	geoip_close(f->geoip);
	DIR *folder = opendir(f->folder);
	assert_non_null(folder);
	for (const struct dirent *entry; (entry = readdir(folder));)
		unlinkat(dirfd(folder), entry->d_name, 0);
	closedir(folder);
	return rmdir(f->folder);
}

static void tells_the_country_of_each_network(void **state)
{
	const struct fixture *f = *state;
	static const struct {
		const char *network, *country;
	} cases[] = {
		{ "8.8.8.0/24", "US" },
		{ "8.8.8.8", "US" },
		{ "8.8.9.0/24", "" },
		{ "93.184.216.0/24", "DE" },
		{ "2a00:1450:4001::/48", "IE" },
		{ "2001:db8:1::/48", "" },
		{ "", "" },
		{ "/24", "" },
		{ "nonsense", "" },
		{ "8.8.8.8.8/24", "" },
		{ "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", "" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct geoip_place place;
		geoip_find(f->geoip, cases[i].network, &place);
		assert_string_equal(place.country, cases[i].country);
		assert_string_equal(place.city, "");
	}
}

static void knows_nothing_without_a_database(void **state)
{
	(void)state;
	struct geoip *geoip = NULL;
	struct geoip_place place;
	assert_int_equal(geoip_open("", NULL, &geoip), OK);
	geoip_find(geoip, "8.8.8.0/24", &place);
	assert_string_equal(place.country, "");
	geoip_close(geoip);
}

static void refuses_a_file_that_is_no_database(void **state)
{
	const struct fixture *f = *state;
	char path[64];
	struct geoip *geoip = NULL;
	snprintf(path, sizeof(path), "%s/v4", f->folder);
	assert_int_equal(geoip_open(path, NULL, &geoip), ERR_INVALID);
	assert_int_equal(geoip_open("/does/not/exist", NULL, &geoip), ERR_INVALID);
	assert_null(geoip);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_the_country_of_each_network),
		cmocka_unit_test(knows_nothing_without_a_database),
		cmocka_unit_test(refuses_a_file_that_is_no_database),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
