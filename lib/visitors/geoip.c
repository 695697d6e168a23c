#include "lib/visitors/geoip.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <maxminddb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"

#define COPY_STEP_BYTES ((size_t)1024 * 1024)
#define SUBDIVISION_SIZE 4

struct geoip {
	const char *path;
	const struct log *log;
	/* Protects the pointer; held for reading during a look-up. */
	pthread_rwlock_t lock;
	/* NULL = none. */
	MMDB_s *database;
	_Atomic unsigned generation;
};

/* Returns the file descriptor of the copy, or -1 and sets errno. */
static int copy_file(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int copy = file < 0 ? -1 : memfd_create("geoip", MFD_CLOEXEC);
	int64_t copied = 0;
	ssize_t step = copy < 0 ? -1 : 1;
	while (step > 0 && copied <= GEOIP_BYTES_MAX) {
		step = sendfile(copy, file, NULL, COPY_STEP_BYTES);
		copied += step;
	}
	if (step > 0)
		errno = EFBIG;
	if (step != 0 && copy >= 0) {
		close(copy);
		copy = -1;
	}
	if (file >= 0)
		close(file);
	return copy;
}

static const char *const country_path[] = { "country", "iso_code", NULL };
static const char *const registered_path[] = { "registered_country", "iso_code", NULL };
static const char *const subdivision_path[] = { "subdivisions", "0", "iso_code", NULL };
static const char *const city_path[] = { "city", "names", "en", NULL };

/* Databases of networks (ASN, ISP, Anonymous) have records, but none with a place. */
static bool is_place(uint8_t record_type, MMDB_entry_s *entry)
{
	static const char *const *const paths[] = { country_path, registered_path, city_path };
	MMDB_entry_data_s data;
	for (size_t i = 0; record_type == MMDB_RECORD_TYPE_DATA && i < 3; i++) {
		if (MMDB_aget_value(entry, &data, paths[i]) == MMDB_SUCCESS && data.has_data &&
		    data.type == MMDB_DATA_TYPE_UTF8_STRING)
			return true;
	}
	return false;
}

/*
 * Checks every node of the search tree: when libmaxminddb opens a file, it checks little more than
 * the metadata. Returns NULL or the problem.
 */
static const char *find_problem(const MMDB_s *database)
{
	bool has_places = false;
	for (uint32_t i = 0; i < database->metadata.node_count; i++) {
		MMDB_search_node_s node;
		if (MMDB_read_node(database, i, &node) != MMDB_SUCCESS ||
		    node.left_record_type == MMDB_RECORD_TYPE_INVALID ||
		    node.right_record_type == MMDB_RECORD_TYPE_INVALID)
			return "the search tree is damaged";
		has_places = has_places ||
		             is_place(node.left_record_type, &node.left_record_entry) ||
		             is_place(node.right_record_type, &node.right_record_entry);
	}
	return has_places ? NULL : "no network in it has a country or city";
}

static void close_database(MMDB_s *database)
{
	if (!database)
		return;
	MMDB_close(database);
	free(database);
}

/* Returns NULL on error and sets *problem to the reason. */
static MMDB_s *open_database(const char *path, const char **problem)
{
	char copy_path[32];
	int copy = copy_file(path);
	if (copy < 0) {
		*problem = strerrordesc_np(errno);
		return NULL;
	}
	MMDB_s *database = mem_zero(sizeof(*database));
	snprintf(copy_path, sizeof(copy_path), "/proc/self/fd/%d", copy);
	int status = MMDB_open(copy_path, MMDB_MODE_MMAP, database);
	close(copy);
	*problem = status == MMDB_SUCCESS ? find_problem(database) : MMDB_strerror(status);
	if (!*problem)
		return database;
	if (status == MMDB_SUCCESS)
		MMDB_close(database);
	free(database);
	return NULL;
}

enum err geoip_reload(struct geoip *geoip)
{
	const char *problem;
	MMDB_s *fresh = open_database(geoip->path, &problem);
	if (!fresh) {
		log_error(geoip->log, "geoip_database_unreadable", LOG_TEXT("path", geoip->path),
		          LOG_TEXT("message", problem));
		return ERR_INVALID;
	}
	log_info(geoip->log, "geoip_database_read", LOG_TEXT("type", fresh->metadata.database_type),
	         LOG_INT("built_at", fresh->metadata.build_epoch));
	pthread_rwlock_wrlock(&geoip->lock);
	MMDB_s *old = geoip->database;
	geoip->database = fresh;
	atomic_fetch_add(&geoip->generation, 1);
	pthread_rwlock_unlock(&geoip->lock);
	close_database(old);
	return OK;
}

enum err geoip_open(const char *path, const struct log *log, struct geoip **out)
{
	struct geoip *geoip = mem_zero(sizeof(*geoip));
	geoip->path = path;
	geoip->log = log;
	pthread_rwlock_init(&geoip->lock, NULL);
	enum err err = path[0] == '\0' ? OK : geoip_reload(geoip);
	if (err == OK)
		*out = geoip;
	else
		geoip_close(geoip);
	return err;
}

void geoip_close(struct geoip *geoip)
{
	if (!geoip)
		return;
	close_database(geoip->database);
	pthread_rwlock_destroy(&geoip->lock);
	free(geoip);
}

unsigned geoip_generation(const struct geoip *geoip)
{
	return atomic_load(&geoip->generation);
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_network(const char *network, union address *out)
{
	char text[INET6_ADDRSTRLEN];
	size_t len = strcspn(network, "/");
	if (len >= sizeof(text))
		return false;
	memcpy(text, network, len);
	text[len] = '\0';
	*out = (union address){ 0 };
	if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
		out->any.sa_family = AF_INET;
		return true;
	}
	out->any.sa_family = AF_INET6;
	return inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1;
}

/* Copies the text at path. Leaves out unchanged when there is no text. */
static void copy_text(MMDB_entry_s *entry, const char *const *path, char *out, size_t size)
{
	MMDB_entry_data_s data;
	if (MMDB_aget_value(entry, &data, path) != MMDB_SUCCESS || !data.has_data ||
	    data.type != MMDB_DATA_TYPE_UTF8_STRING)
		return;
	utf8_copy_clean(data.utf8_string, data.data_size, out, size);
}

static bool is_country(const char *code)
{
	return isupper((unsigned char)code[0]) && isupper((unsigned char)code[1]) &&
	       code[2] == '\0';
}

/* The part after the hyphen in ISO 3166-2: one to three letters or digits. */
static bool is_subdivision(const char *code)
{
	size_t len = 0;
	while (isupper((unsigned char)code[len]) || isdigit((unsigned char)code[len]))
		len++;
	return len > 0 && len < SUBDIVISION_SIZE && code[len] == '\0';
}

static void read_place(MMDB_entry_s *entry, struct geoip_place *out)
{
	copy_text(entry, country_path, out->country, sizeof(out->country));
	if (is_country(out->country)) {
		char subdivision[SUBDIVISION_SIZE + 1] = "";
		copy_text(entry, subdivision_path, subdivision, sizeof(subdivision));
		if (is_subdivision(subdivision))
			snprintf(out->region, sizeof(out->region), "%s-%s", out->country,
			         subdivision);
	} else {
		copy_text(entry, registered_path, out->country, sizeof(out->country));
	}
	if (!is_country(out->country))
		out->country[0] = '\0';
	copy_text(entry, city_path, out->city, sizeof(out->city));
}

void geoip_lookup(struct geoip *geoip, const char *network, struct geoip_place *out)
{
	*out = (struct geoip_place){ 0 };
	union address address;
	if (!parse_network(network, &address))
		return;
	pthread_rwlock_rdlock(&geoip->lock);
	if (geoip->database) {
		int error = MMDB_SUCCESS;
		MMDB_lookup_result_s found =
			MMDB_lookup_sockaddr(geoip->database, &address.any, &error);
		if (error == MMDB_SUCCESS && found.found_entry)
			read_place(&found.entry, out);
	}
	pthread_rwlock_unlock(&geoip->lock);
}
