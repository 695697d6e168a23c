#include "services/links-api/identity/jwt_secrets.h"

#include <string.h>

#define SEPARATORS ",\r\n"

enum err jwt_secrets_parse(const char *text, struct jwt_secrets *out)
{
	struct jwt_secrets list = { 0 };
	size_t len = strnlen(text, sizeof(list.text));
	if (len == sizeof(list.text))
		return ERR_INVALID;
	memcpy(list.text, text, len);
	for (size_t i = strspn(list.text, SEPARATORS); list.text[i];) {
		size_t each = strcspn(list.text + i, SEPARATORS);
		size_t gap = strspn(list.text + i + each, SEPARATORS);
		if (each < JWT_SECRETS_EACH_BYTES_MIN || list.count == JWT_SECRETS_MAX)
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

size_t jwt_secrets_check(const char *text, struct strbuf *problems)
{
	struct jwt_secrets list;
	if (jwt_secrets_parse(text, &list) == OK)
		return 0;
	size_t count = 0;
	for (text += strspn(text, SEPARATORS); *text; text += strspn(text, SEPARATORS)) {
		size_t len = strcspn(text, SEPARATORS);
		count++;
		if (len < JWT_SECRETS_EACH_BYTES_MIN) {
			strbuf_add_format(
				problems,
				"JWT_SECRET: secret %zu has %zu bytes, but at least %d are needed "
				"(a comma or newline begins a new secret)\n",
				count, len, JWT_SECRETS_EACH_BYTES_MIN);
			return 1;
		}
		text += len;
	}
	strbuf_add_format(problems, "JWT_SECRET: has %zu secrets, but 1 to %d are allowed\n", count,
	                  JWT_SECRETS_MAX);
	return 1;
}

const char *jwt_secrets_get(const struct jwt_secrets *list, size_t index)
{
	return list->text + list->at[index];
}
