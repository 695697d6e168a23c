#include "services/links-api/access/secret_list.h"

#include <string.h>

#define SEPARATORS ",\r\n"

enum err secret_list_parse(const char *text, struct secret_list *out)
{
	struct secret_list list = { 0 };
	size_t len = strnlen(text, sizeof(list.text));
	if (len == sizeof(list.text))
		return ERR_INVALID;
	memcpy(list.text, text, len);
	for (size_t i = strspn(list.text, SEPARATORS); list.text[i];) {
		size_t each = strcspn(list.text + i, SEPARATORS);
		size_t gap = strspn(list.text + i + each, SEPARATORS);
		if (each < SECRET_LIST_EACH_BYTES_MIN || list.count == SECRET_LIST_MAX)
			return ERR_INVALID;
		list.at[list.count++] = i;
		list.text[i + each] = '\0';
		i += each + gap;
		if (gap == 0)
			break;
	}
	if (list.count == 0)
		return ERR_INVALID;
	*out = list;
	return OK;
}

const char *secret_list_get(const struct secret_list *list, size_t index)
{
	return list->text + list->at[index];
}
