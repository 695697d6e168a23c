/*
 * The load whose history check_freshness judges. Editors change links through links-api, readers
 * ask redirectors for them, and each operation goes into FOLDER/changes-N or FOLDER/reads-N
 * (history.h). The environment variable TOKEN is the editors' login.
 *
 * Standard input controls it, one character at a time. The program prints "done" after each:
 *
 *   q   ends the changes and waits for the last one
 *   p   pauses the reads
 *   r   resumes the reads
 *
 * At the end of standard input the reads end as well, so the load does not outlive its test. The
 * last line of output says how many requests the readers made.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/chaos/freshness/editor.h"
#include "tests/chaos/freshness/reader.h"

#define THREADS_MAX 16
#define PATH_SIZE 4096

struct options {
	const char *folder;
	const char *prefix;
	const char *token;
	uint16_t api;
	size_t editors;
	double write_rate;
	uint16_t ports[THREADS_MAX];
	size_t port_count;
	size_t visitors;
	double read_rate;
	uint64_t seed;
};

struct load {
	struct options options;
	struct link_pool *pool;
	_Atomic bool are_changes_over;
	_Atomic bool is_paused;
	_Atomic bool is_over;
	struct editor *editors[THREADS_MAX];
	struct reader *readers[THREADS_MAX];
};

static const struct option names[] = {
	{ "folder", required_argument, NULL, 'f' },
	{ "prefix", required_argument, NULL, 'p' },
	{ "api", required_argument, NULL, 'a' },
	{ "editors", required_argument, NULL, 'e' },
	{ "write-rate", required_argument, NULL, 'w' },
	{ "redirector", required_argument, NULL, 'r' },
	{ "visitors", required_argument, NULL, 'v' },
	{ "read-rate", required_argument, NULL, 'q' },
	{ "seed", required_argument, NULL, 's' },
	{ 0 },
};

static bool take_option(struct options *o, int name)
{
	switch (name) {
	case 'f':
		o->folder = optarg;
		return true;
	case 'p':
		o->prefix = optarg;
		return true;
	case 'a':
		o->api = (uint16_t)strtoul(optarg, NULL, 10);
		return true;
	case 'e':
		o->editors = strtoul(optarg, NULL, 10);
		return o->editors <= THREADS_MAX;
	case 'w':
		o->write_rate = strtod(optarg, NULL);
		return o->write_rate > 0;
	case 'r':
		if (o->port_count == THREADS_MAX)
			return false;
		o->ports[o->port_count++] = (uint16_t)strtoul(optarg, NULL, 10);
		return true;
	case 'v':
		o->visitors = strtoul(optarg, NULL, 10);
		return o->visitors > 0;
	case 'q':
		o->read_rate = strtod(optarg, NULL);
		return true;
	case 's':
		o->seed = strtoul(optarg, NULL, 10);
		return true;
	default:
		return false;
	}
}

static bool parse(int argc, char **argv, struct options *o)
{
	int name;
	*o = (struct options){ .prefix = "f", .editors = 2, .write_rate = 100, .visitors = 8 };
	o->token = getenv("TOKEN");
	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (!take_option(o, name))
			return false;
	}
	return o->folder && o->token && o->api && o->port_count > 0 && optind == argc;
}

/* Of each thread another one, and never 0. */
static uint64_t seed_of(const struct options *o, size_t thread)
{
	return (o->seed + 1) * UINT64_C(0x9E3779B97F4A7C15) +
	       (thread + 1) * UINT64_C(0xD1B54A32D192ED03);
}

static bool start(struct load *load)
{
	const struct options *o = &load->options;
	char path[PATH_SIZE];
	bool is_right = true;
	load->pool = link_pool_new(o->prefix);
	for (size_t i = 0; i < o->editors && is_right; i++) {
		snprintf(path, sizeof(path), "%s/changes-%zu", o->folder, i + 1);
		load->editors[i] = editor_new(&(struct editor_config){
			o->api, o->token, path, o->write_rate / (double)o->editors, seed_of(o, i),
			load->pool, &load->are_changes_over });
		is_right = load->editors[i] != NULL;
	}
	for (size_t i = 0; i < o->port_count && is_right; i++) {
		snprintf(path, sizeof(path), "%s/reads-%zu", o->folder, i + 1);
		load->readers[i] = reader_new(&(struct reader_config){
			o->ports[i], (uint16_t)(i + 1), path, o->visitors,
			o->read_rate / (double)o->port_count, seed_of(o, THREADS_MAX + i),
			load->pool, &load->is_paused, &load->is_over });
		is_right = load->readers[i] != NULL;
	}
	if (!is_right)
		perror(path);
	return is_right;
}

static void stop_changes(struct load *load)
{
	atomic_store(&load->are_changes_over, true);
	for (size_t i = 0; i < THREADS_MAX; i++) {
		editor_free(load->editors[i]);
		load->editors[i] = NULL;
	}
}

static void stop(struct load *load)
{
	uint64_t asked = 0;
	stop_changes(load);
	atomic_store(&load->is_over, true);
	for (size_t i = 0; i < THREADS_MAX; i++)
		asked += reader_free(load->readers[i]);
	link_pool_free(load->pool);
	printf("reads %llu\n", (unsigned long long)asked);
}

static void obey(struct load *load, char command)
{
	if (command == 'q')
		stop_changes(load);
	else
		atomic_store(&load->is_paused, command == 'p');
	printf("done\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const char usage[] =
		"usage: TOKEN=… freshness_load --folder DIR --api PORT --redirector PORT [--redirector PORT]… [--prefix TEXT]\n"
		"       [--editors N] [--write-rate PER_SECOND] [--visitors N_EACH] [--read-rate PER_SECOND] [--seed N]\n";
	struct load load = { 0 };
	char byte;
	if (!parse(argc, argv, &load.options)) {
		fputs(usage, stderr);
		return 64;
	}
	bool is_right = start(&load);
	while (is_right && read(STDIN_FILENO, &byte, 1) > 0)
		obey(&load, byte);
	stop(&load);
	return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
