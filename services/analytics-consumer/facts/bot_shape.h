/*
 * Pure. Shapes of a User-Agent header that browsers of people never have, because browsers follow
 * one grammar: "Mozilla/5.0 (system) engine/1 (KHTML, like Gecko) name/1 name/1". Every text is in
 * lower case.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_BOT_SHAPE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_BOT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

/* "me@example.com", but not "ar_sa@calendar=gregorian", "600000@taobao_android" or "app@1.2.3". */
bool bot_shape_has_mail_address(const char *text);

/* "example.com", "+devin.ai" and "feeder.co", but not "com.example.app" or "build/ap3a.240617". */
bool bot_shape_has_site(const char *text);

/*
 * True if the header of a computer's browser has a part that browsers do not add:
 *   something before "mozilla/5.0"       page-preview-tool Mozilla/5.0 (…
 *   a semicolon after a product          … Safari/537.36; Manus-User/1.0
 *   a first word that names no system    Mozilla/5.0 (watchTowr; Windows NT 10.0; …
 */
bool bot_shape_has_foreign_part(const char *text);

/* True if byte at belongs to the name of an Android device: "M bot 60" is a telephone. */
bool bot_shape_is_android_model(const char *text, size_t at);

/* True if it begins like a browser and has no engine: "mozilla/5.0 keydrop". */
bool bot_shape_has_no_engine(const char *text);

#endif
