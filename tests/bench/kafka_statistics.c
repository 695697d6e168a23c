/*
 * Loaded into the analytics-consumer by tests/bench/instructions. Switches librdkafka's statistics
 * off: it computes them once a second, and under callgrind a second has a fiftieth of the clicks.
 */
#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <string.h>

typedef rd_kafka_conf_res_t set_function(rd_kafka_conf_t *conf, const char *name, const char *value,
                                         char *errstr, size_t errstr_size);

rd_kafka_conf_res_t rd_kafka_conf_set(rd_kafka_conf_t *conf, const char *name, const char *value,
                                      char *errstr, size_t errstr_size)
{
	set_function *original = (set_function *)dlsym(RTLD_NEXT, "rd_kafka_conf_set");
	bool is_interval = strcmp(name, "statistics.interval.ms") == 0;
	return original(conf, name, is_interval ? "0" : value, errstr, errstr_size);
}
