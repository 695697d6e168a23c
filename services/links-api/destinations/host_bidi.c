#include "services/links-api/destinations/host_bidi.h"

#include <stdint.h>
#include <unictype.h>
#include <unistr.h>

#define BIT(category) (1U << (category))
#define RIGHT (BIT(UC_BIDI_R) | BIT(UC_BIDI_AL))
#define LEFT BIT(UC_BIDI_L)
#define NEUTRAL                                                                                    \
	(BIT(UC_BIDI_ES) | BIT(UC_BIDI_CS) | BIT(UC_BIDI_ET) | BIT(UC_BIDI_ON) | BIT(UC_BIDI_BN) | \
	 BIT(UC_BIDI_NSM))

/* The Bidi categories in a label, as bit sets. */
struct label {
	unsigned first, last; /* ignoring combining marks */
	unsigned all;
};

static unsigned category_of(ucs4_t c)
{
	int category = uc_bidi_category(c);
	return category >= 0 && category < 32 ? BIT(category) : 0;
}

/* Returns the start of the next label, or NULL after the last one. */
static const uint8_t *read_label(const uint8_t *at, struct label *label)
{
	ucs4_t c;
	*label = (struct label){ 0 };
	while ((at = u8_next(&c, at)) && c != '.') {
		unsigned category = category_of(c);
		if (!label->first)
			label->first = category;
		if (category != BIT(UC_BIDI_NSM))
			label->last = category;
		label->all |= category;
	}
	return at;
}

static bool is_valid(const struct label *label)
{
	const unsigned numbers = BIT(UC_BIDI_EN) | BIT(UC_BIDI_AN);
	if (label->first & RIGHT)
		return !(label->all & ~(RIGHT | numbers | NEUTRAL)) &&
		       label->last & (RIGHT | numbers) && (label->all & numbers) != numbers;
	if (label->first & LEFT)
		return !(label->all & ~(LEFT | BIT(UC_BIDI_EN) | NEUTRAL)) &&
		       label->last & (LEFT | BIT(UC_BIDI_EN));
	return !label->first; /* an empty label follows a trailing dot */
}

bool host_bidi_is_valid(const char *name)
{
	struct label label;
	unsigned all = 0;
	bool are_valid = true;
	for (const uint8_t *at = (const uint8_t *)name; at;) {
		at = read_label(at, &label);
		all |= label.all;
		are_valid = are_valid && is_valid(&label);
	}
	return are_valid || !(all & (RIGHT | BIT(UC_BIDI_AN)));
}
