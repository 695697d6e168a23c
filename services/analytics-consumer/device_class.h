/*
 * Pure. What kind of device a visitor holds: the few classes that statistics count.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_DEVICE_CLASS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_DEVICE_CLASS_H

enum device_class {
	DEVICE_CLASS_OTHER, /* television, console, watch, program, unknown */
	DEVICE_CLASS_DESKTOP,
	DEVICE_CLASS_MOBILE,
	DEVICE_CLASS_TABLET,
	DEVICE_CLASS_BOT,
};

/* user_agent: the whole header; os and device: the families that uap-core's rules found in it. */
enum device_class device_class_of(const char *user_agent, const char *os, const char *device);

/* "desktop", "mobile", "tablet", "bot", "other": as stored and sent. */
const char *device_class_name(enum device_class device);

#endif
