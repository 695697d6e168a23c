#include <stdint.h>
#include <string.h>

#include "services/links-api/destinations/destination.h"
#include "tests/support/test.h"

TEST_CASE(shows_what_people_see)
{
	/* "": the URL itself. */
	static const struct {
		const char *url, *shown;
	} examples[] = {
		{ "https://example.com/", "" },
		{ "https://example.com/a?b=c#d", "" },
		{ "https://xn--bcher-kva.example/", "https://bücher.example/" },
		{ "https://xn--bcher-kva.example:8080/x", "https://bücher.example:8080/x" },
		{ "https://example.com/%D0%BD%D0%BE", "https://example.com/но" },
		{ "https://example.com/a%20b%2Fc%7e", "https://example.com/a b/c~" },
		{ "https://example.com/a+b?c+d#e+f", "https://example.com/a+b?c d#e+f" },
		{ "https://example.com/#%E2%82%AC", "https://example.com/#€" },
		{ "https://example.com/%0A%00%1f", "" },
		{ "https://example.com/%C2%85%ff", "" },
		{ "https://example.com/%D0%BD%FF/%D0%BD", "https://example.com/%D0%BD%FF/н" },
		{ "https://example.com/100%/%zz%4", "" },
		{ "https://[::1]/%41", "https://[::1]/A" },
	};
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		char shown[DESTINATION_SHOWN_SIZE];
		destination_show(examples[i].url, shown);
		assert_string_equal(shown, examples[i].shown);
	}
}

TEST_CASE(the_longest_url_fits)
{
	char url[LINK_URL_SIZE] = "https://xn--";
	char shown[DESTINATION_SHOWN_SIZE];
	memset(url + strlen(url), 'a', LINK_URL_MAX - strlen(url));
	destination_show(url, shown);
	assert_string_equal(shown, "");
}

TEST_MAIN()
