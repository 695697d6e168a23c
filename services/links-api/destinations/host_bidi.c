#include "services/links-api/destinations/host_bidi.h"

#include <stdint.h>
#include <unictype.h>
#include <unistr.h>

#define BIT(category) (1U << (category))
#define RIGHT (BIT(UC_BIDI_R) | BIT(UC_BIDI_AL))
#define LEFT BIT(UC_BIDI_L)
#define NEUTRAL                                                                                                        \
	(BIT(UC_BIDI_ES) | BIT(UC_BIDI_CS) | BIT(UC_BIDI_ET) | BIT(UC_BIDI_ON) | BIT(UC_BIDI_BN) | BIT(UC_BIDI_NSM))

/* What is in a label, as sets of categories. */
struct label {
	unsigned first, last; /* last: but for marks */
	unsigned all;
};

static unsigned category_of(ucs4_t c)
{
	int category = uc_bidi_category(c);
	return category >= 0 && category < 32 ? BIT(category) : 0;
}

/* Gives where the next label begins, NULL after the last. */
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

static bool is_good(const struct label *label)
{
	const unsigned numbers = BIT(UC_BIDI_EN) | BIT(UC_BIDI_AN);
	if (label->first & RIGHT)
		return !(label->all & ~(RIGHT | numbers | NEUTRAL)) && label->last & (RIGHT | numbers) &&
		       (label->all & numbers) != numbers;
	if (label->first & LEFT)
		return !(label->all & ~(LEFT | BIT(UC_BIDI_EN) | NEUTRAL)) && label->last & (LEFT | BIT(UC_BIDI_EN));
	return !label->first; /* the empty one behind the last dot */
}

bool host_bidi_is_good(const char *name)
{
	struct label label;
	unsigned all = 0;
	bool are_good = true;
	for (const uint8_t *at = (const uint8_t *)name; at;) {
		at = read_label(at, &label);
		all |= label.all;
		are_good = are_good && is_good(&label);
	}
	return are_good || !(all & (RIGHT | BIT(UC_BIDI_AN)));
}
