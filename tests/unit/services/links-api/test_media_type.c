#include <stdint.h>

#include "services/links-api/http/media_type.h"
#include "tests/support/test.h"

static const char *const offered[] = { "application/json", "text/csv", "application/x-ndjson" };
#define NONE 9

TEST_CASE(chooses_the_type_the_client_prefers)
{
	static const struct {
		const char *accept;
		size_t chosen;
	} examples[] = {
		{ NULL, 0 },
		{ "", 0 },
		{ " , ", 0 },
		{ "*/*", 0 },
		{ "application/*", 0 },
		{ "text/*", 1 },
		{ "TEXT/CSV", 1 },
		{ "text/csv;charset=utf-8", 1 },
		{ "application/x-ndjson", 2 },
		{ "text/csv, application/json", 0 },
		{ "application/json;q=0.5, text/csv;q=0.6", 1 },
		{ "application/json; q=0.5 ,text/csv ; q=0.6", 1 },
		{ "*/*;q=0.9, application/json;q=0.1", 1 },
		{ "application/*;q=0.2, */*;q=0.1, application/x-ndjson;q=1.000", 2 },
		{ "text/csv;q=0", NONE },
		{ "text/html", NONE },
		{ "*/*;q=0", NONE },
		{ "text/csv;q=0, */*", 0 },
		{ "text/html, text/csv;q=0.001", 1 },
		{ "text", NONE },
		{ "/", NONE },
		{ "text/csvx", NONE },
		{ "*", NONE },
		{ "text/csv;q=nonsense, application/json;q=0.5", 1 },
		{ "text/csv;q", 1 },
		{ "text/csv;", 1 },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		size_t chosen = NONE;
		enum err err = media_type_choose(examples[i].accept, offered, 3, &chosen);
		if (chosen != examples[i].chosen || err != (chosen == NONE ? ERR_NOT_FOUND : OK))
			fail_msg("%s gives %zu", examples[i].accept, chosen);
	}
}

TEST_MAIN()
