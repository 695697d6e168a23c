#include <dirent.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/visitors/geoip.h"
#include "tests/support/test.h"

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
	return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0 &&
	       waitpid(pid, &status, 0) == pid && status == 0;
}

/* A small database, built the way tools/setup does. */
static int set_up(void **state)
{
	static struct fixture f;
	snprintf(f.folder, sizeof(f.folder), "/tmp/geoip-XXXXXX");
	assert_non_null(mkdtemp(f.folder));
	snprintf(f.database, sizeof(f.database), "%s/country.mmdb", f.folder);
	/* 8.8.8.0/24 and 93.184.216.0/24 as numbers: the format of IPv4 in tor-geoipdb. */
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

TEST_CASE(finds_the_country_of_each_network)
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
		geoip_lookup(f->geoip, cases[i].network, &place);
		assert_string_equal(place.country, cases[i].country);
		assert_string_equal(place.city, "");
	}
}

static struct geoip *open_cities(const struct fixture *f, const char *const *rows)
{
	char program[] = "tests/support/build-city-database";
	char path[64];
	char *argv[10] = { program, path };
	pid_t pid = 0;
	int status = -1;
	struct geoip *geoip = NULL;
	snprintf(path, sizeof(path), "%s/city.mmdb", f->folder);
	for (size_t i = 0; rows[i]; i++)
		argv[2 + i] = (char *)rows[i]; /* posix_spawn does not write to it */
	assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(geoip_open(path, NULL, &geoip), OK);
	return geoip;
}

static void assert_place(struct geoip *geoip, const char *network, const char *country,
                         const char *region, const char *city)
{
	struct geoip_place place;
	memset(&place, 0xff, sizeof(place));
	geoip_lookup(geoip, network, &place);
	assert_string_equal(place.country, country);
	assert_string_equal(place.region, region);
	assert_string_equal(place.city, city);
}

TEST_CASE(finds_region_and_city_in_a_city_database)
{
	static const char *const rows[] = { "192.0.2.0/24,DE,BY,M\xc3\xbcnchen",
		                            "198.51.100.0/24,GB,,London",
		                            "203.0.113.0/24,,ENG,Nowhere",
		                            "2001:db8:1::/48,BR,SP,S\xc3\xa3o Paulo",
		                            "2001:db8:2::/48,US,california,Los Angeles",
		                            "2001:db8:3::/48,FR,75,Paris",
		                            "2001:db8:5::/48,US,CALIFORNIA,",
		                            NULL };
	struct geoip *geoip = open_cities(*state, rows);
	assert_place(geoip, "192.0.2.0/24", "DE", "DE-BY", "M\xc3\xbcnchen");
	assert_place(geoip, "198.51.100.0/24", "GB", "", "London");
	/*
	 * A subdivision belongs to the located country, not to the country that registered the
	 * network.
	 */
	assert_place(geoip, "203.0.113.0/24", "ZZ", "", "Nowhere");
	assert_place(geoip, "2001:db8:1::/48", "BR", "BR-SP", "S\xc3\xa3o Paulo");
	assert_place(geoip, "2001:db8:2::/48", "US", "", "Los Angeles");
	assert_place(geoip, "2001:db8:3::/48", "FR", "FR-75", "Paris");
	assert_place(geoip, "2001:db8:4::/48", "", "", "");
	assert_place(geoip, "2001:db8:5::/48", "US", "", "");
	geoip_close(geoip);
}

static size_t read_all(const char *path, uint8_t *out, size_t size)
{
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t len = fread(out, 1, size, file);
	fclose(file);
	assert_true(len > 0 && len < size);
	return len;
}

TEST_CASE(refuses_a_database_whose_tree_is_damaged)
{
	const struct fixture *f = *state;
	static uint8_t bytes[100000];
	char path[64];
	struct geoip *geoip = NULL;
	size_t len = read_all(f->database, bytes, sizeof(bytes));
	/* The search tree is at the beginning of the file. */
	memset(bytes, 0xff, 60);
	snprintf(path, sizeof(path), "%s/damaged", f->folder);
	FILE *file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	fclose(file);
	assert_int_equal(geoip_open(path, NULL, &geoip), ERR_INVALID);
	assert_null(geoip);
}

TEST_CASE(finds_no_place_without_a_database)
{
	struct geoip *geoip = NULL;
	struct geoip_place place;
	assert_int_equal(geoip_open("", NULL, &geoip), OK);
	geoip_lookup(geoip, "8.8.8.0/24", &place);
	assert_string_equal(place.country, "");
	geoip_close(geoip);
}

TEST_CASE(refuses_a_file_that_is_not_a_database)
{
	const struct fixture *f = *state;
	char path[64];
	struct geoip *geoip = NULL;
	snprintf(path, sizeof(path), "%s/v4", f->folder);
	assert_int_equal(geoip_open(path, NULL, &geoip), ERR_INVALID);
	assert_int_equal(geoip_open("/does/not/exist", NULL, &geoip), ERR_INVALID);
	assert_null(geoip);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
