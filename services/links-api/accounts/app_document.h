/*
 * The documents by which phones learn which links an app opens, as Apple and Google define them:
 * /.well-known/apple-app-site-association and /.well-known/assetlinks.json of the redirector. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_APP_DOCUMENT_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_APP_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/http/http_problem.h"
#include "lib/json/json.h"

/* As stored and served; Apple's own limit. */
#define APP_DOCUMENT_BYTES_MAX ((size_t)128 * 1024)

enum app_document_kind { APP_DOCUMENT_APPLE, APP_DOCUMENT_GOOGLE };

/* Of "apple-app-site-association" or "assetlinks.json". False: another name. */
bool app_document_find(const char *name, enum app_document_kind *kind);

/*
 * Reports what a phone would not understand, at "/document/…":
 *   Apple   an object; applinks.details: objects with appIDs or appID, and components or paths;
 *           webcredentials.apps and appclips.apps: app ids
 *   Google  an array of statements {relation: […], target}; target: {namespace: "android_app",
 *           package_name, sha256_cert_fingerprints} or {namespace: "web", site}
 * Members that are not named here are as the maker defines them, and stay.
 */
void app_document_check(enum app_document_kind kind, const struct json *document,
                        struct http_problem_fields *wrong);

#endif
