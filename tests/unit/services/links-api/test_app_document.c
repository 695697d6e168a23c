#include <string.h>

#include "services/links-api/accounts/app_document.h"
#include "tests/support/test.h"

/* The pointers of what is wrong, separated by spaces. */
static void assert_wrong(enum app_document_kind kind, const char *text, const char *expected)
{
	char reason[JSON_REASON_SIZE];
	struct strbuf found;
	struct json *document = NULL;
	struct http_problem_fields wrong = { 0 };
	if (json_parse(text, strlen(text), &document, reason) != OK)
		fail_msg("%s: %s", text, reason);
	app_document_check(kind, document, &wrong);
	strbuf_init(&found, 4096);
	for (size_t i = 0; i < wrong.count; i++)
		strbuf_add_format(&found, "%s%s", i > 0 ? " " : "", wrong.field[i].pointer);
	json_free(document);
	if (strcmp(found.len > 0 ? found.data : "", expected) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", text, found.data, expected);
	strbuf_clear(&found);
}

#define APP "\"ABCDE12345.com.example.app\""

TEST_CASE(what_apple_describes_is_accepted)
{
	(void)state;
	/* The examples of Apple's "Supporting associated domains", old and new form. */
	assert_wrong(
		APP_DOCUMENT_APPLE,
		"{\"applinks\":{\"details\":[{\"appIDs\":[" APP
		",\"ABCDE12345.com.example.app2\"],\"components\":["
		"{\"#\":\"no_universal_links\",\"exclude\":true,\"comment\":\"c\"},"
		"{\"/\":\"/buy/*\"},{\"/\":\"/help/*\",\"?\":{\"articleNumber\":\"????\"}}]}]},"
		"\"webcredentials\":{\"apps\":[" APP
		"]},\"appclips\":{\"apps\":[\"ABCDE12345.com.example.app.Clip\"]}}",
		"");
	assert_wrong(APP_DOCUMENT_APPLE,
	             "{\"applinks\":{\"apps\":[],\"details\":[{\"appID\":" APP
	             ",\"paths\":[\"/wwdc/news/\",\"NOT /videos/wwdc/2010/*\",\"*\"]}]}}",
	             "");
	assert_wrong(APP_DOCUMENT_APPLE, "{\"webcredentials\":{\"apps\":[" APP "]}}", "");
}

TEST_CASE(what_an_iphone_would_not_understand_is_named)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "[]", "/document" },
		{ "{}", "/document" },
		{ "{\"applinks\":[]}", "/document/applinks" },
		{ "{\"applinks\":{}}", "/document/applinks/details" },
		{ "{\"applinks\":{\"details\":{}}}", "/document/applinks/details" },
		{ "{\"applinks\":{\"details\":[7]}}", "/document/applinks/details/0" },
		{ "{\"applinks\":{\"details\":[{}]}}",
		  "/document/applinks/details/0/appIDs /document/applinks/details/0/components" },
		{ "{\"applinks\":{\"details\":[{\"appIDs\":[],\"components\":[]}]}}",
		  "/document/applinks/details/0/appIDs" },
		{ "{\"applinks\":{\"details\":[{\"appIDs\":[\"com.example.app\"],\"components\":[]}]}}",
		  "/document/applinks/details/0/appIDs/0" },
		{ "{\"applinks\":{\"details\":[{\"appID\":\"ABCDE12345.\",\"paths\":[\"\",3]}]}}",
		  "/document/applinks/details/0/appID /document/applinks/details/0/paths/0 "
		  "/document/applinks/details/0/paths/1" },
		{ "{\"applinks\":{\"details\":[{\"appIDs\":[" APP
		  "],\"components\":[{\"/\":1},{\"?\":[]},{\"exclude\":\"yes\"},\"x\"]}]}}",
		  "/document/applinks/details/0/components/0 /document/applinks/details/0/components/1 "
		  "/document/applinks/details/0/components/2/exclude /document/applinks/details/0/components/3" },
		{ "{\"webcredentials\":{\"apps\":[\"x\"]}}", "/document/webcredentials/apps/0" },
		{ "{\"appclips\":{}}", "/document/appclips/apps" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_wrong(APP_DOCUMENT_APPLE, cases[i][0], cases[i][1]);
}

#define RELATION "\"relation\":[\"delegate_permission/common.handle_all_urls\"]"
#define PRINT                                                                                      \
	"\"14:6D:E9:83:C5:73:06:50:D8:EE:B9:95:2F:34:FC:64:16:A0:83:42:E6:1D:BE:A8:8A:04:96:B2:3F:CF:44:E5\""

TEST_CASE(what_google_describes_is_accepted)
{
	(void)state;
	assert_wrong(APP_DOCUMENT_GOOGLE,
	             "[{" RELATION ",\"target\":{\"namespace\":\"android_app\",\"package_name\":"
	             "\"com.example.app_2\",\"sha256_cert_fingerprints\":[" PRINT "]}},"
	             "{" RELATION
	             ",\"target\":{\"namespace\":\"web\",\"site\":\"https://www.example.com\"}},"
	             "{\"include\":\"https://example.com/more.json\"}]",
	             "");
}

TEST_CASE(what_android_would_not_understand_is_named)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "{}", "/document" },
		{ "[]", "/document" },
		{ "[1]", "/document/0" },
		{ "[{}]", "/document/0/relation /document/0/target" },
		{ "[{\"relation\":[],\"target\":{}}]",
		  "/document/0/relation /document/0/target/namespace" },
		{ "[{\"relation\":[\"\"],\"target\":{\"namespace\":\"ios\"}}]",
		  "/document/0/relation/0 /document/0/target/namespace" },
		{ "[{" RELATION ",\"target\":{\"namespace\":\"web\"}}]",
		  "/document/0/target/site" },
		{ "[{" RELATION ",\"target\":{\"namespace\":\"web\",\"site\":\"ftp://x\"}}]",
		  "/document/0/target/site" },
		{ "[{" RELATION ",\"target\":{\"namespace\":\"android_app\"}}]",
		  "/document/0/target/package_name /document/0/target/sha256_cert_fingerprints" },
		{ "[{" RELATION
		  ",\"target\":{\"namespace\":\"android_app\",\"package_name\":\"app\","
		  "\"sha256_cert_fingerprints\":[" PRINT ",\"14:6d:e9\",7]}}]",
		  "/document/0/target/package_name /document/0/target/sha256_cert_fingerprints/1 "
		  "/document/0/target/sha256_cert_fingerprints/2" },
		{ "[{" RELATION ",\"target\":{\"namespace\":\"android_app\",\"package_name\":"
		  "\"com.1app\",\"sha256_cert_fingerprints\":[]}}]",
		  "/document/0/target/package_name /document/0/target/sha256_cert_fingerprints" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_wrong(APP_DOCUMENT_GOOGLE, cases[i][0], cases[i][1]);
}

TEST_CASE(there_are_two_documents)
{
	(void)state;
	enum app_document_kind kind;
	assert_true(app_document_find("apple-app-site-association", &kind));
	assert_int_equal(kind, APP_DOCUMENT_APPLE);
	assert_true(app_document_find("assetlinks.json", &kind));
	assert_int_equal(kind, APP_DOCUMENT_GOOGLE);
	assert_false(app_document_find("security.txt", &kind));
}

TEST_MAIN()
