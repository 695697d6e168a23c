/* Pure. Classifies the visitor's device into the few classes that statistics count. */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_DEVICE_CLASS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_DEVICE_CLASS_H

#include <stdbool.h>

enum device_class {
	DEVICE_CLASS_OTHER, /* television, console, watch, program or unknown */
	DEVICE_CLASS_DESKTOP,
	DEVICE_CLASS_MOBILE,
	DEVICE_CLASS_TABLET,
	DEVICE_CLASS_BOT,
};

/* user_agent: the whole header. os: the family that uap-core's rules found in it. */
enum device_class device_class_of(const char *user_agent, const char *os, bool is_spider);

/* True for a television, a set-top box, a console or a watch. */
bool device_class_is_appliance(const char *user_agent);

/* The name in the database and in events: "desktop", "mobile", "tablet", "bot" or "other". */
const char *device_class_name(enum device_class device);

#endif
