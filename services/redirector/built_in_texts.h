/*
 * Pure. The texts of the pages for visitors that are built in, and so the keys of all texts. Other
 * languages come from a file: page_texts.h.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_BUILT_IN_TEXTS_H
#define WAYMARK_SERVICES_REDIRECTOR_BUILT_IN_TEXTS_H

#define BUILT_IN_TEXTS 32

struct built_in_text {
	const char *key, *english, *german;
};

extern const struct built_in_text built_in_texts[BUILT_IN_TEXTS];

#endif
