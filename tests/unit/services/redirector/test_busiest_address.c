#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/strbuf.h"
#include "services/redirector/busiest_address.h"
#include "tests/support/test.h"

struct busiest_fixture {
	int log_fds[2];
	struct log *log;
	struct metrics *metrics;
	struct busiest_address *busiest;
};

static void set_up(struct busiest_fixture *f)
{
	assert_int_equal(pipe(f->log_fds), 0);
	f->log = log_new("test", LOG_WARNING, f->log_fds[1]);
	f->metrics = metrics_new();
	f->busiest = busiest_address_new(f->log, f->metrics);
}

/* Returns how many warnings were logged. */
static size_t tear_down(struct busiest_fixture *f)
{
	char lines[65536];
	log_warning(f->log, "end");
	ssize_t len = read(f->log_fds[0], lines, sizeof(lines) - 1);
	assert_true(len > 0);
	lines[len] = '\0';
	size_t warnings = 0;
	for (const char *at = lines; (at = strstr(at, "visitors_share_one_address")); at++)
		warnings++;
	busiest_address_free(f->busiest);
	metrics_free(f->metrics);
	log_free(f->log);
	close(f->log_fds[0]);
	close(f->log_fds[1]);
	return warnings;
}

/* One visitor in every stride has an address of their own; the others share one. */
static void record(struct busiest_fixture *f, int visitors, int stride)
{
	for (int i = 0; i < visitors; i++) {
		struct client_ip ip = { .known = true,
			                .bytes = { [10] = 0xff, [11] = 0xff, [12] = 10 } };
		if (i % stride == 0) {
			ip.bytes[12] = 11;
			ip.bytes[14] = (uint8_t)(i >> 8);
			ip.bytes[15] = (uint8_t)i;
		}
		busiest_address_record(f->busiest, &ip);
	}
}

static void assert_ratio(struct busiest_fixture *f, const char *expected)
{
	struct strbuf text;
	strbuf_init(&text, 4096);
	metrics_render(f->metrics, &text);
	const char *line = strstr(text.data, "\nwaymark_busiest_address_ratio ");
	assert_non_null(line);
	line += strlen("\nwaymark_busiest_address_ratio ");
	char value[32] = "";
	memcpy(value, line, strcspn(line, "\n"));
	assert_string_equal(value, expected);
	strbuf_clear(&text);
}

TEST_CASE(warns_once_when_nearly_all_visitors_share_one_address)
{
	struct busiest_fixture f;
	set_up(&f);
	record(&f, 4 * BUSIEST_ADDRESS_WINDOW, 20);
	assert_ratio(&f, "0.95");
	assert_int_equal(tear_down(&f), 1);
}

TEST_CASE(is_silent_while_visitors_have_addresses_of_their_own)
{
	struct busiest_fixture f;
	set_up(&f);
	record(&f, 4 * BUSIEST_ADDRESS_WINDOW, 1);
	assert_ratio(&f, "0");
	record(&f, 4 * BUSIEST_ADDRESS_WINDOW, 5);
	assert_ratio(&f, "0.8");
	assert_int_equal(tear_down(&f), 0);
}

TEST_CASE(warns_again_after_the_visitors_had_addresses_of_their_own)
{
	struct busiest_fixture f;
	set_up(&f);
	record(&f, 4 * BUSIEST_ADDRESS_WINDOW, 20);
	record(&f, 4 * BUSIEST_ADDRESS_WINDOW, 1);
	record(&f, 4 * BUSIEST_ADDRESS_WINDOW, 20);
	assert_int_equal(tear_down(&f), 2);
}

TEST_CASE(does_not_count_unknown_addresses)
{
	struct busiest_fixture f;
	struct client_ip unknown = { 0 };
	set_up(&f);
	for (int i = 0; i < 2 * BUSIEST_ADDRESS_WINDOW; i++)
		busiest_address_record(f.busiest, &unknown);
	assert_ratio(&f, "0");
	assert_int_equal(tear_down(&f), 0);
}

TEST_MAIN()
